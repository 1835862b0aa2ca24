//===- Request.td - the members of a request ---------------------------------------------------------------===//
// What is here: the single definition of a request, which says what a program is compiled for. It
// defines the parameters of the attribute `#logitile.request` and their description;
// make_sources.py generates the members in C, C++ and Python.
#ifndef LOGITILE_REQUEST_TD
#define LOGITILE_REQUEST_TD
include "dialect/types/LogitileDialect.td"

// In brackets, because the list may be empty: a program that only merges states has no projection,
// and a forward program has no gradient.
class Logitile_Bracketed<string attr> : ArrayRefParameter<attr> {
  let parser = "parseBracketed<" # attr # ">($_parser)";
  let printer = "printBracketed($_printer, $_self)";
}

// ---- types of members: in Request, in lt_request, in the attribute and in Python

class Logitile_MemberType<string inCpp, string inC, AttrOrTypeParameter inAttribute, string inPython> {
  string cpp = inCpp;
  string c = inC;
  AttrOrTypeParameter parameter = inAttribute;
  string python = inPython;
}
/// lt_request has the length too.
class Logitile_ListType<string inCpp, string inC, AttrOrTypeParameter inAttribute, string inPython>
    : Logitile_MemberType<inCpp, inC, inAttribute, inPython>;

def Logitile_Text : Logitile_MemberType<"std::string", "const char *", StringRefParameter<>, "str">;
def Logitile_Number : Logitile_MemberType<"int64_t", "int64_t", AttrParameter<"int64_t", "">, "int">;
def Logitile_Count : Logitile_MemberType<"int64_t", "int", AttrParameter<"int64_t", "">, "int">;
def Logitile_Flag : Logitile_MemberType<"bool", "int", AttrParameter<"bool", "">, "bool">;
def Logitile_ModeWord : Logitile_MemberType<"Mode", "lt_mode", AttrParameter<"Mode", "">, "str">;
def Logitile_Tiles : Logitile_MemberType<"TileChoice", "const char *", OptionalParameter<"mlir::DictionaryAttr">, "str">;
def Logitile_Slice : Logitile_MemberType<"std::optional<SlicePlan>", "const struct lt_slice *", OptionalParameter<"SliceAttr">,
                                         "_native.Slice | None">;
def Logitile_Projections : Logitile_ListType<"std::vector<ProjectionPlan>", "const struct lt_projection *",
                                             Logitile_Bracketed<"ProjectionAttr">, "Sequence[_native.Projection]">;
def Logitile_Types : Logitile_ListType<"ElementTypes", "const struct lt_named_type *", AttrParameter<"mlir::DictionaryAttr", "">,
                                       "Sequence[_native.NamedType]">;
def Logitile_Gradients : Logitile_ListType<"std::vector<GradientRequest>", "const struct lt_gradient *",
                                           Logitile_Bracketed<"GradientAttr">, "Sequence[_native.Gradient]">;

// ---- members

/// A member in C, C++, the attribute and Python.
class Logitile_Member<string memberName, Logitile_MemberType memberType, string meaningText, bit required = 0> {
  string name = memberName; // in lt_request, the attribute, the key and Python; in Request in camel case
  Logitile_MemberType type = memberType;
  string meaning = meaningText;
  bit isRequired = required; // other members that Python leaves out are zero in lt_request
  string kind = "";          // which macro of compiler/Request.def its row has
  bit isInAttribute = 1;
}
/// The text of the loss: the module that has the attribute.
class Logitile_TextMember<string name, string meaning> : Logitile_Member<name, Logitile_Text, meaning, 1> {
  let kind = "TEXT";
  let isInAttribute = 0;
}
/// A member on which only messages depend: not part of the key or of the attribute.
class Logitile_NoteMember<string name, string meaning> : Logitile_Member<name, Logitile_Text, meaning> {
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
    Logitile_NoteMember<"located_spec", "the same with locations, which messages show; it may be left out">,
    Logitile_Member<"projections", Logitile_Projections, "the projections of the loss, in the order of its parameters", 1>,
    Logitile_Member<"dense", Logitile_Types, "the Dense inputs and their element types in memory">,
    Logitile_Member<"gradients", Logitile_Gradients, "the wanted gradients, and their element types">,
    Logitile_Member<"mode", Logitile_ModeWord, "`forward`: no gradients; `early`: with the outputs; `split`: in a separate phase">,
    Logitile_CallMember<"tokens", Logitile_Number, "number of tokens of the call; the schedule covers an interval around it">,
    Logitile_Member<"workspace", Logitile_Number, "budget in bytes; 0 if `chunks` is given">,
    Logitile_Member<"chunks", Logitile_Number, "number of chunks of tokens; 0 if `workspace` is given">,
    Logitile_Member<"accumulate", Logitile_Flag, "weight gradients are added into float32 arrays of the caller">,
    Logitile_Member<"target", Logitile_Text, "`cpu:avx512_bf16`, `cpu:avx2`, ...", 1>,
    Logitile_Member<"threads", Logitile_Count, "number of threads that work on a call", 1>,
    Logitile_Member<"slice", Logitile_Slice, "the caller's part of the vocabulary, and what the program does with it; without it, all entries">,
    Logitile_Member<"tiles", Logitile_Tiles, "tile sizes that replace those of the target's table, such as `TM=64,TN=64`">,
  ];
}

defvar Logitile_RequestParameters = !filter(member, Logitile_Request.members, member.isInAttribute);
#endif
