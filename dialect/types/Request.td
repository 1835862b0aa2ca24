//===- Request.td - the members of a request ---------------------------------------------------------------===//
// What is here: the single definition of a request, which says what a program is compiled for: its
// enumerations, structs and members. Attributes have their parameters and summaries from here;
// make_sources.py generates the forms in C, C++ and Python.
#ifndef LOGITILE_REQUEST_TD
#define LOGITILE_REQUEST_TD
include "dialect/types/LogitileDialect.td"

// ---- words of the C interface

class Logitile_RequestEnum<string name, string summary, string inC, string prefix, list<Logitile_Case> cases>
    : Logitile_Enum<name, summary, cases>, Logitile_InC<inC, prefix>;

def Logitile_Mode : Logitile_RequestEnum<"Mode", "which gradients a program makes, and when", "lt_mode", "LT_", [
  Logitile_Case<"Forward", 0, "forward", "outputs only">,
  Logitile_Case<"Early", 1, "early", "outputs and gradients in one phase: cotangents are known at its start">,
  Logitile_Case<"Split", 2, "split", "outputs in one phase, gradients in another">,
]>;
def Logitile_ModeAttr : Logitile_EnumAttr<Logitile_Mode, "mode">;

def Logitile_OperandPart
    : Logitile_RequestEnum<"OperandPart", "what of its owner an array of the caller is, or the gradient of one", "lt_operand_part", "LT_",
                           [Logitile_Case<"Hidden", 0, "hidden", "the hidden states of a projection">,
                            Logitile_Case<"Weight", 1, "weight", "the head of a projection">,
                            Logitile_Case<"Input", 2, "input", "the whole of another input">,
]>;
def Logitile_OperandPartAttr : Logitile_EnumAttr<Logitile_OperandPart, "operand_part">;

def Logitile_SlicePart : Logitile_RequestEnum<"SlicePart", "which part of a program a slice of the vocabulary runs",
                                              "lt_slice_part", "LT_SLICE_", [
  Logitile_Case<"Sweep", 0, "sweep", "one sweep over the slice, from the merged states of the sweeps before it">,
  Logitile_Case<"Merge", 1, "merge", "joins the states that one sweep left on two slices">,
  Logitile_Case<"Finish", 2, "finish", "the outputs, from the merged states of the forward sweeps">,
  Logitile_Case<"Gradient", 3, "gradient", "the gradients of the slice, from the merged states of all sweeps">,
]>;
def Logitile_SlicePartAttr : Logitile_EnumAttr<Logitile_SlicePart, "slice_part">;

class Logitile_TypeCase<string symbol, int value, string word, int size>
    : Logitile_Case<symbol, value, word, !if(!eq(size, 1), "1 byte", size # " bytes")> {
  int bytes = size;
}
def Logitile_ElementType
    : Logitile_Words<"ElementType", "the type of an array's elements; kernels have all but unsigned ones of more than a byte",
                     [Logitile_TypeCase<"F16", 0, "float16", 2>, Logitile_TypeCase<"BF16", 1, "bfloat16", 2>,
                      Logitile_TypeCase<"F32", 2, "float32", 4>, Logitile_TypeCase<"F64", 3, "float64", 8>,
                      Logitile_TypeCase<"I8", 4, "int8", 1>, Logitile_TypeCase<"I16", 5, "int16", 2>,
                      Logitile_TypeCase<"I32", 6, "int32", 4>, Logitile_TypeCase<"I64", 7, "int64", 8>,
                      Logitile_TypeCase<"U8", 8, "uint8", 1>, Logitile_TypeCase<"U16", 9, "uint16", 2>,
                      Logitile_TypeCase<"U32", 10, "uint32", 4>, Logitile_TypeCase<"U64", 11, "uint64", 8>,
                      Logitile_TypeCase<"Bool", 12, "bool", 1>,
]>, Logitile_InC<"lt_type", "LT_">;

def Logitile_Reduction : Logitile_Words<"Reduction", "what a call makes of the output `loss`",
                                        [Logitile_Case<"None", 0, "none", "one value per token">,
                                         Logitile_Case<"Sum", 1, "sum", "the sum over tokens">,
                                         Logitile_Case<"Mean", 2, "mean", "the sum divided by the divisor of the call">,
]>, Logitile_InC<"lt_reduction", "LT_">;

// ---- members, and their types in C++, in C, in the attribute and in Python

class Logitile_MemberType<string inCpp, string inC, AttrOrTypeParameter inAttribute, string inPython> {
  string cpp = inCpp;
  string c = inC;
  AttrOrTypeParameter parameter = inAttribute;
  string python = inPython;
}
class Logitile_Word<Logitile_RequestEnum words>
    : Logitile_MemberType<words.cpp, words.c, AttrParameter<words.cpp, "">,
                          "Literal[" # !interleave(!foreach(case, words.words, "\"" # case.str # "\""), ", ") # "]">;

def Logitile_Text : Logitile_MemberType<"std::string", "const char *", StringRefParameter<>, "str">;
def Logitile_Number : Logitile_MemberType<"int64_t", "int64_t", AttrParameter<"int64_t", "">, "int">;
def Logitile_Count : Logitile_MemberType<"int64_t", "int", AttrParameter<"int64_t", "">, "int">;
def Logitile_Flag : Logitile_MemberType<"bool", "int", AttrParameter<"bool", "">, "bool">;
def Logitile_Tiles : Logitile_MemberType<"TileChoice", "const char *", OptionalParameter<"mlir::DictionaryAttr">, "str">;
def Logitile_Type : Logitile_MemberType<"ElementType", "lt_type", AttrParameter<"mlir::Type", "">, "int">;
def Logitile_OptionalType : Logitile_MemberType<"ElementType", "lt_type", OptionalParameter<"mlir::Type">, "int">;

/// A member in C, C++, the attribute and Python.
class Logitile_Member<string memberName, Logitile_MemberType memberType, string meaningText, bit required = 0, string inCpp = memberName> {
  string name = memberName; // in C, the key and Python
  string cpp = inCpp;       // in C++ and the attribute
  Logitile_MemberType type = memberType;
  string meaning = meaningText;
  bit isRequired = required; // other members that Python leaves out are zero in lt_request
  string kind = "";          // which macro of compiler/Request.def its row has
  bit isInAttribute = 1;
}
class Logitile_Parameters<list<Logitile_Member> members> {
  dag all = !dag(ins, !foreach(member, members, member.type.parameter), !foreach(member, members, member.cpp));
}

// ---- structs

/// The values of a tuple in Python.
class Logitile_Struct<string inPython, string inC, string inCpp, string meaningText, list<Logitile_Member> structMembers> {
  string python = inPython;
  string c = inC;
  string cpp = inCpp; // none: ""
  string meaning = meaningText;
  list<Logitile_Member> members = structMembers;
  string firstInKey = ""; // the member that keys have before all others, where it is not the first
}

def Logitile_Projection : Logitile_Struct<"Projection", "lt_projection", "ProjectionPlan", "one projection: hidden states times head weights", [
  Logitile_Member<"name", Logitile_Text, "of the loss's parameter">,
  Logitile_Member<"hidden", Logitile_Number, "D: hidden states are [..., D], the head is [V, D]">,
  Logitile_Member<"type", Logitile_Type, "of both operands", 1, "element">,
  Logitile_Member<"hidden_memory", Logitile_Type,
                  "of hidden states in memory: they are rounded while they are packed, and their gradient has this type", 1, "hiddenMemory">,
  Logitile_Member<"weight_memory", Logitile_Type, "the same of the head", 1, "weightMemory">,
]>;
def Logitile_NamedType : Logitile_Struct<"NamedType", "lt_named_type", "", "the element type of an input", [
  Logitile_Member<"name", Logitile_Text, "of the input">,
  Logitile_Member<"type", Logitile_Type, "in memory">,
]>;
def Logitile_Gradient : Logitile_Struct<"Gradient", "lt_gradient", "GradientRequest",
                                        "a gradient that is asked for: of which input, of which part of it, and its element type", [
  Logitile_Member<"name", Logitile_Text, "of the projection, or of another input", 1, "owner">,
  Logitile_Member<"part", Logitile_Word<Logitile_OperandPart>, "of it">,
  Logitile_Member<"type", Logitile_OptionalType, "of the gradient's elements", 1, "element">,
]> {
  let firstInKey = "part";
}
def Logitile_Slice : Logitile_Struct<"Slice", "lt_slice", "SlicePlan",
                                     "the slice of the vocabulary that a program sees, and what it does there", [
  Logitile_Member<"part", Logitile_Word<Logitile_SlicePart>, "what is done">,
  Logitile_Member<"columns", Logitile_Number, "of the slice: weights have as many rows">,
  Logitile_Member<"sweep", Logitile_Number, "which one the parts `sweep` and `merge` do: forward ones first, from 0">,
]>;

/// None of them, or one.
class Logitile_MaybeOne<Logitile_Struct struct>
    : Logitile_MemberType<"std::optional<" # struct.cpp # ">", "const struct " # struct.c # " *",
                          OptionalParameter<struct.python # "Attr">, struct.python # " | None">;
/// lt_request has the length too.
class Logitile_ListType<Logitile_Struct struct, string inCpp, AttrOrTypeParameter inAttribute>
    : Logitile_MemberType<inCpp, "const struct " # struct.c # " *", inAttribute, "Sequence[" # struct.python # "]">;
// In brackets, for there may be none: what only merges states has no projection, and a forward
// program no gradient.
class Logitile_Bracketed<string attr> : ArrayRefParameter<attr> {
  let parser = "parseBracketed<" # attr # ">($_parser)";
  let printer = "printBracketed($_printer, $_self)";
}
class Logitile_List<Logitile_Struct struct>
    : Logitile_ListType<struct, "std::vector<" # struct.cpp # ">", Logitile_Bracketed<struct.python # "Attr">>;
def Logitile_Types : Logitile_ListType<Logitile_NamedType, "ElementTypes", AttrParameter<"mlir::DictionaryAttr", "">>;

// ---- the request

/// The text of the loss: the module that has the attribute.
class Logitile_TextMember<string name, string meaning> : Logitile_Member<name, Logitile_Text, meaning, 1> {
  let kind = "TEXT";
  let isInAttribute = 0;
}
/// A member on which only messages depend: not part of the key or of the attribute.
class Logitile_NoteMember<string name, string meaning, string inCpp> : Logitile_Member<name, Logitile_Text, meaning, 0, inCpp> {
  let kind = "NOTE";
  let isInAttribute = 0;
}
/// A part of the attribute that differs from call to call.
class Logitile_CallMember<string name, Logitile_MemberType type, string meaning> : Logitile_Member<name, type, meaning> {
  let kind = "CALL";
}

/// In the order of lt_request, of the attribute's text, and of the key.
def Logitile_Request {
  list<Logitile_Member> members = [
    Logitile_TextMember<"spec", "the loss: text of stage `spec`, without locations">,
    Logitile_NoteMember<"located_spec", "the same with locations, which messages show; it may be left out", "locatedSpec">,
    Logitile_Member<"projections", Logitile_List<Logitile_Projection>, "the projections of the loss, in the order of its parameters", 1>,
    Logitile_Member<"dense", Logitile_Types, "the Dense inputs and their element types in memory">,
    Logitile_Member<"gradients", Logitile_List<Logitile_Gradient>, "the wanted gradients, and their element types">,
    Logitile_Member<"mode", Logitile_Word<Logitile_Mode>,
                    "`forward`: no gradients; `early`: with the outputs; `split`: in a separate phase">,
    Logitile_CallMember<"tokens", Logitile_Number, "number of tokens of the call; the schedule covers an interval around it">,
    Logitile_Member<"workspace", Logitile_Number, "budget in bytes; 0 if `chunks` is given">,
    Logitile_Member<"chunks", Logitile_Number, "number of chunks of tokens; 0 if `workspace` is given">,
    Logitile_Member<"accumulate", Logitile_Flag, "weight gradients are added into float32 arrays of the caller">,
    Logitile_Member<"target", Logitile_Text, "`cpu:avx512_bf16`, `cpu:avx2`, ...", 1>,
    Logitile_Member<"threads", Logitile_Count, "number of threads that work on a call", 1>,
    Logitile_Member<"slice", Logitile_MaybeOne<Logitile_Slice>,
                    "the caller's part of the vocabulary, and what the program does with it; without it, all entries">,
    Logitile_Member<"tiles", Logitile_Tiles, "tile sizes that replace those of the target's table, such as `TM=64,TN=64`">,
  ];
}

defvar Logitile_RequestParameters = !filter(member, Logitile_Request.members, member.isInAttribute);
#endif
