//===- LogitileDialect.td - the dialect and the base classes of its ops, types and attributes ---------===//
// What is here: the dialect itself and what every other .td builds on. No op, no
// type.
#ifndef LOGITILE_DIALECT_TD
#define LOGITILE_DIALECT_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Logitile_Dialect : Dialect {
  let name = "logitile";
  let cppNamespace = "::logitile";
  let summary = "per-token losses over the logits of a language model, from scalar maths to kernels";
  let description = [{
    A loss is written for one token; the vocabulary axis is implicit. The dialect holds it at three levels:

    * **spec** (`logitile.loss`): scalar SSA of one token. A value is *varying* (it differs along the vocabulary)
      or *uniform* (one per token).
    * **plan** (`logitile.program`): sweeps over the vocabulary with their row state, the per-token values between
      them, the gradient, and the schedule of launches.
    * **tiles** (`logitile.kernel`): one kernel per launch, on tiles of tokens x vocabulary, instantiated from the
      skeletons of `templates/` (`logitile.template`).

    Scalar maths is `arith` and `math` at every level.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    mlir::Type parseType(mlir::DialectAsmParser &parser) const override;
    void printType(mlir::Type type, mlir::DialectAsmPrinter &printer) const override;
  }];
}

class Logitile_Op<string mnemonic, list<Trait> traits = []> : Op<Logitile_Dialect, mnemonic, traits>;
class Logitile_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Logitile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

/// One word of an enumeration and what it means; the meaning goes into the reference.
class Logitile_Case<string symbol, int value, string word, string meaningText> : I32EnumAttrCase<symbol, value, word> {
  string meaning = meaningText;
}
/// An enumeration that plain C++ has.
class Logitile_Words<string name, string meaningText, list<Logitile_Case> cases> {
  string cpp = name;
  string meaning = meaningText;
  list<Logitile_Case> words = cases;
}
/// One that the C interface has too; `prefix` begins the names of its values there.
class Logitile_InC<string name, string prefix> {
  string c = name;
  string cPrefix = prefix;
}
/// One that texts of IR have too.
class Logitile_Enum<string name, string summary, list<Logitile_Case> cases>
    : I32EnumAttr<name, summary, cases>, Logitile_Words<name, summary, cases> {
  let cppNamespace = "::logitile";
  let genSpecializedAttr = 0;
  let description = !foldl("", cases, text, case, text # "* `" # case.str # "`: " # case.meaning # "\n");
}
class Logitile_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Logitile_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

// I64Attr reads as unsigned in C++, so that checks for negative numbers would never hold.
def Logitile_Int : TypedSignlessIntegerAttrBase<I64, "int64_t", "integer">;

def Logitile_Scalar : AnyTypeOf<[F32, I32, I1], "a scalar of f32, i32 or i1">;
#endif
