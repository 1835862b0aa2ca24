// philox_test.cpp - the generator of random numbers, as IR on constants that folds away, against
// published vectors: the file kat_vectors of Random123 (Salmon et al., SC 2011), rows "philox4x32
// 10".
#include "compiler/Conversion/Philox.h"
#include "compiler/Registry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <gtest/gtest.h>
using namespace logitile;

namespace {
using Words = std::array<uint32_t, 4>;

struct Vector {
  Words counter;
  std::array<uint32_t, 2> key;
  Words result;
};
constexpr uint32_t kOnes = 0xffffffff;
const Vector kVectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

/// Builds code in a function and folds what it returns to numbers.
class Philox : public testing::Test {
protected:
  Philox() : context(registry()) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>();
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  }

  static const mlir::DialectRegistry &registry() {
    static const mlir::DialectRegistry &known = *[] {
      auto *made = new mlir::DialectRegistry;
      registerDialects(*made);
      return made;
    }();
    return known;
  }
  Lanes word(mlir::ImplicitLocOpBuilder &b, uint32_t bits) {
    return {b, mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(bits)))};
  }
  llvm::SmallVector<mlir::Attribute> folded(llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ImplicitLocOpBuilder &)> make) {
    mlir::ImplicitLocOpBuilder b(module->getLoc(), module->getBodyRegion());
    auto function = mlir::func::FuncOp::create(b, "made", b.getFunctionType({}, {}));
    b.setInsertionPointToEnd(function.addEntryBlock());
    llvm::SmallVector<mlir::Value> values = make(b);
    function.setFunctionType(b.getFunctionType({}, mlir::ValueRange(values).getTypes()));
    mlir::func::ReturnOp::create(b, values);
    mlir::PassManager passes(&context);
    passes.addPass(mlir::createCanonicalizerPass());
    EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
    llvm::SmallVector<mlir::Attribute> numbers;
    for (mlir::Value value : function.getBody().front().getTerminator()->getOperands()) {
      mlir::Attribute number;
      EXPECT_TRUE(mlir::matchPattern(value, mlir::m_Constant(&number)));
      numbers.push_back(number);
    }
    return numbers;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

class PhiloxVectors : public Philox, public testing::WithParamInterface<Vector> {};

TEST_P(PhiloxVectors, FourWordsAreThoseOfTheAuthors) {
  auto [counter, key, result] = GetParam();
  auto words = folded([&](mlir::ImplicitLocOpBuilder &b) {
    auto at = [&](uint32_t bits) { return word(b, bits); };
    std::array<Lanes, 4> made = philox({at(counter[0]), at(counter[1]), at(counter[2]), at(counter[3])}, {at(key[0]), at(key[1])});
    return llvm::SmallVector<mlir::Value>(made.begin(), made.end());
  });
  for (auto [i, number] : llvm::enumerate(words))
    EXPECT_EQ(result[i], llvm::cast<mlir::IntegerAttr>(number).getValue().getZExtValue()) << "word " << i;
}

INSTANTIATE_TEST_SUITE_P(, PhiloxVectors, testing::ValuesIn(kVectors));

TEST_F(Philox, FourColumnsHaveTheWordsOfABlockHalfAStepAboveTheirMultiplesOfTheStep) {
  auto numbers = folded([&](mlir::ImplicitLocOpBuilder &b) {
    Lanes zero = word(b, 0);
    return llvm::map_to_vector(llvm::seq(4), [&](int i) -> mlir::Value { return uniform(zero, zero, zero, word(b, 8 * i)); });
  });
  for (auto [number, bits] : llvm::zip_equal(numbers, kVectors[0].result))
    EXPECT_EQ(static_cast<float>((bits + 0.5) / 0x1p32), llvm::cast<mlir::FloatAttr>(number).getValue().convertToFloat());
}
} // namespace
