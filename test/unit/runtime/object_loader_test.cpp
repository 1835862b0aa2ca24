// object_loader_test.cpp - objects made and loaded: what runs, what is refused and what the refusal
// says.
#include "compiler/Codegen/LLVMTarget.h"
#include "compiler/Registry.h"
#include "compiler/Target/Backend.h"
#include "mlir/Parser/Parser.h"
#include "runtime/cpu/ObjectLoader.h"
#include <gtest/gtest.h>
using namespace logitile;

namespace {
constexpr const char *kStore = R"(
func.func @store(%words: !llvm.ptr, %task: i64, %scratch: !llvm.ptr) {
  llvm.store %task, %words : i64, !llvm.ptr
  return
})";
constexpr const char *kForeign = R"(
func.func private @outside()
func.func @call(%words: !llvm.ptr, %task: i64, %scratch: !llvm.ptr) {
  call @outside() : () -> ()
  return
})";

struct Parsed {
  explicit Parsed(const char *text) : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  std::string object() {
    std::string error;
    mlir::FailureOr<std::string> object = findTarget("cpu:portable", error)->emitCode(*module, nullptr);
    return succeeded(object) ? *object : std::string();
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST(ObjectLoader, RunsAFunctionOfAnObject) {
  std::string error;
  std::unique_ptr<ObjectLoader> loader = ObjectLoader::load(Parsed(kStore).object(), error);
  ASSERT_TRUE(loader) << error;
  CpuKernel store = loader->find("store", error);
  ASSERT_TRUE(store) << error;
  int64_t word = 0;
  store(&word, 42, nullptr, nullptr);
  EXPECT_EQ(42, word);
}

TEST(ObjectLoader, TwoObjectsMayHaveFunctionsOfOneName) {
  std::string error;
  auto first = ObjectLoader::load(Parsed(kStore).object(), error), second = ObjectLoader::load(Parsed(kStore).object(), error);
  ASSERT_TRUE(first && second) << error;
  EXPECT_NE(first->find("store", error), second->find("store", error));
}

TEST(ObjectLoader, RefusesWhatIsNoObject) {
  std::string error;
  EXPECT_FALSE(ObjectLoader::load("no object", error));
  EXPECT_NE("", error);
}

TEST(ObjectLoader, NamesAFunctionThatIsMissing) {
  std::string error;
  std::unique_ptr<ObjectLoader> loader = ObjectLoader::load(Parsed(kStore).object(), error);
  ASSERT_TRUE(loader) << error;
  EXPECT_FALSE(loader->find("restore", error));
  EXPECT_NE(std::string::npos, error.find("restore")) << error;
}

TEST(ObjectLoader, NamesASymbolThatCodeMayNotUse) {
  std::string error;
  EXPECT_FALSE(ObjectLoader::load(Parsed(kForeign).object(), error));
  EXPECT_EQ("the code needs a symbol that it may not have: outside", error);
}

TEST(EmitLLVM, EveryFunctionStatesItsCpu) {
  std::string error;
  Parsed parsed(kStore);
  std::string text = findTarget("cpu:avx512_bf16", error)->asLLVM()->emitText(*parsed.module);
  EXPECT_NE(std::string::npos, text.find("define void @store(ptr")) << text;
  EXPECT_NE(std::string::npos, text.find("\"target-cpu\"=\"x86-64-v4\"")) << text;
  EXPECT_NE(std::string::npos, text.find("\"target-features\"=\"+avx512bf16\"")) << text;
}
} // namespace
