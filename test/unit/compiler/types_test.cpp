// types_test.cpp - the dialect's types as C++ builds them. How they are spelled is tested in
// test/dialect/types.mlir.
#include "dialect/Logitile.h"
#include <gtest/gtest.h>
using namespace mlir;
using namespace logitile;

namespace {
class TypesTest : public ::testing::Test {
protected:
  TypesTest() {
    context.loadDialect<LogitileDialect>();
    f32 = Float32Type::get(&context);
    acc = SymbolicType::get(&context, "acc");
  }
  Attribute extent(int64_t value) { return dimension(&context, value); }
  Attribute symbol(StringRef name) { return SymbolicDimAttr::get(&context, name); }
  std::string spell(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
  SmallVector<StringRef> symbolsOf(Type type) {
    SmallVector<StringRef> symbols;
    collectSymbols(type, symbols);
    return symbols;
  }

  MLIRContext context;
  Type f32, acc;
};
} // namespace

TEST_F(TypesTest, EqualDimensionsGiveTheSameType) {
  EXPECT_EQ(TileType::get(&context, {extent(16), symbol("TN")}, f32), TileType::get(&context, {extent(16), symbol("TN")}, f32));
  EXPECT_NE(TileType::get(&context, {extent(16), symbol("TN")}, f32), TileType::get(&context, {extent(16), symbol("TD")}, f32));
}

TEST_F(TypesTest, ExtentsOfAKernelsTileAreNumbers) {
  auto tile = TileType::get(&context, {extent(16), extent(1)}, f32);
  EXPECT_EQ(tile.getExtent(0), 16);
  EXPECT_EQ(tile.getExtent(1), 1);
}

TEST_F(TypesTest, SymbolsAreFoundInDimensionsAndElements) {
  EXPECT_EQ(symbolsOf(TileType::get(&context, {symbol("TM"), symbol("TN")}, acc)), SmallVector<StringRef>({"TM", "TN", "acc"}));
  EXPECT_EQ(symbolsOf(BundleType::get(&context, BundleKind::RowState, {symbol("TM")}, Type())), SmallVector<StringRef>({"TM"}));
  EXPECT_TRUE(symbolsOf(TileType::get(&context, {extent(4), extent(1)}, f32)).empty());
}

TEST_F(TypesTest, CaseTellsDimensionsFromElements) {
  for (StringRef name : {"V", "TM", "T0", "TILE_M"}) {
    EXPECT_TRUE(isNameOfDim(name)) << name.str();
    EXPECT_FALSE(isNameOfType(name)) << name.str();
  }
  for (StringRef name : {"acc", "in", "op_2"}) {
    EXPECT_TRUE(isNameOfType(name)) << name.str();
    EXPECT_FALSE(isNameOfDim(name)) << name.str();
  }
  for (StringRef name : {"", "x", "Tm", "TMxTN", "0T", "_T", "_t"}) {
    EXPECT_FALSE(isNameOfDim(name)) << name.str();
    EXPECT_FALSE(isNameOfType(name)) << name.str();
  }
}

TEST_F(TypesTest, SpellingHasSpacesOnlyNextToSymbols) {
  EXPECT_EQ(spell(TileType::get(&context, {extent(128), extent(64)}, f32)), "!logitile.tile<128x64xf32>");
  EXPECT_EQ(spell(TileType::get(&context, {extent(128), symbol("TN")}, f32)), "!logitile.tile<128 x TN x f32>");
  EXPECT_EQ(spell(TileType::get(&context, {extent(128), extent(64)}, acc)), "!logitile.tile<128 x 64 x acc>");
  EXPECT_EQ(spell(ViewType::get(&context, {extent(ShapedType::kDynamic)}, f32, Layout::Strided)), "!logitile.view<?xf32>");
}
