// WgmmaText.h - the LLVM IR of one wgmma, as MLIR writes it. For tests of the emulator only.
#pragma once
#include <string>
#include <vector>

namespace logitile::emulator {
/// The asm of one product; 'sums' are texts of the values that it adds to.
struct WgmmaText {
  uint32_t columns = 64;
  std::string adds = "1", signs = "i32 1, i32 1", type = "bf16", a = "i64 %da", b = "i64 %db";
  bool isTransposedA = false, isTransposedB = false, hasFragment = false;

  std::string structType() const {
    std::string text = "{";
    for (uint32_t i = 0; i < columns / 2; ++i)
      text += i ? ", float" : "float";
    return text + "}";
  }
  std::string call(const std::string &result, const std::vector<std::string> &sums) const {
    const uint32_t count = columns / 2;
    std::string outputs, constraints, ties, inputs;
    for (uint32_t i = 0; i < count; ++i) {
      outputs += (i ? ", $" : "$") + std::to_string(i);
      constraints += "=f,";
      ties += std::to_string(i) + ",";
      inputs += "float " + sums[i] + ", ";
    }
    uint32_t next = 2 * count;
    auto place = [&] { return "$" + std::to_string(next++); };
    const std::string operandA = hasFragment ? "{" + place() + ", " + place() + ", " + place() + ", " + place() + "}" : place();
    const std::string operandB = place(), scale = place(), rest = place() + ", " + place() + (hasFragment ? "" : ", " + place());
    const std::string text = "{\\0A.reg .pred p;\\0Asetp.ne.b32 p, " + scale + ", 0;\\0Awgmma.mma_async.sync.aligned.m64n" +
                             std::to_string(columns) + "k16.f32." + type + "." + type + " {" + outputs + "}, " + operandA + ", " + operandB +
                             ", p, " + rest + ", " + place() + ";\\0A}\\0A";
    return "%" + result + " = call " + structType() + " asm sideeffect \"" + text + "\", \"" + constraints + ties +
           (hasFragment ? "r,r,r,r,l" : "l,l") + (hasFragment ? ",n,n,n,n" : ",n,n,n,n,n") + "\"(" + inputs + a + ", " + b + ", i32 " + adds +
           ", " + signs + ", " + (hasFragment ? "" : "i32 " + std::to_string(isTransposedA) + ", ") + "i32 " +
           std::to_string(isTransposedB) + ")\n";
  }
  std::string first(const std::string &result, const std::string &sum = "0.0") const {
    return call(result, std::vector<std::string>(columns / 2, sum));
  }
  /// A product that adds to the sums of another.
  std::string next(const std::string &result, const std::string &before) const {
    std::vector<std::string> sums;
    std::string text;
    for (uint32_t i = 0; i < columns / 2; ++i) {
      sums.push_back("%" + result + "_" + std::to_string(i));
      text += sums.back() + " = extractvalue " + structType() + " %" + before + ", " + std::to_string(i) + "\n";
    }
    return text + call(result, sums);
  }
  /// Each thread stores its sums.
  std::string store(const std::string &sums) const {
    std::string text = "%base = mul i32 %tid, " + std::to_string(columns / 2) + "\n";
    for (uint32_t i = 0; i < columns / 2; ++i) {
      const std::string n = std::to_string(i);
      text += "%s" + n + " = extractvalue " + structType() + " %" + sums + ", " + n + "\n%i" + n + " = add i32 %base, " + n + "\n%o" + n +
              " = getelementptr float, ptr addrspace(1) %out, i32 %i" + n + "\nstore float %s" + n + ", ptr addrspace(1) %o" + n + "\n";
    }
    return text;
  }
};
} // namespace logitile::emulator
