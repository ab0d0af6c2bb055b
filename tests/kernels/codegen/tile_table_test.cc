// Tables of measured tiles: what they say, and their text.
#include "kernels/codegen/tiles/tile_table.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"

namespace lemma::codegen {
namespace {

ProductSize Large() { return {1, 512, 512, 512, 0, 2}; }

// The size's choice that the time model likes least.
TileChoice Worst(const ProductSize& size, ProductPrecision precision) {
  TileChoice worst;
  double most = 0;
  for (const TileChoice& choice : TileChoices(size, precision)) {
    const double time = PredictedMicroseconds(size, choice, precision);
    if (time > most) worst = choice;
    most = std::max(most, time);
  }
  return worst;
}

TileTable Example() {
  TileTable table;
  TunedTile tile;
  tile.choice = Worst(Large(), ProductPrecision::kTf32);
  tile.microseconds = 12.5;
  tile.model_microseconds = 14;
  table.Set({Large(), ProductPrecision::kTf32, {}}, tile);
  ProductSize bulk = {3, 128, 64, 1024};
  bulk.bulk = true;
  tile.choice = TileChoices(bulk, ProductPrecision::kBf16).back();
  table.Set({bulk, ProductPrecision::kBf16, {}}, tile);
  StreamSize stream = {12, 512, 384, 64, 64, true};
  tile.stream = StreamTiles(stream).back();
  table.Set({std::nullopt, ProductPrecision::kF32, stream}, tile);
  table.Learn(2, ProductPrecision::kTf32, 3, 2);
  return table;
}

TEST(TileTable, AMeasuredTileTakesThePlaceOfTheModels) {
  const TileTable table = Example();
  const TileChoice wanted = Worst(Large(), ProductPrecision::kTf32);
  const TileChoice model = ChooseTile(Large(), ProductPrecision::kTf32);
  ASSERT_TRUE(wanted.tile != model.tile || wanted.parts != model.parts);
  EXPECT_EQ(table.Choose(Large(), ProductPrecision::kTf32).tile, wanted.tile);
  EXPECT_EQ(table.Choose(Large(), ProductPrecision::kTf32).parts, wanted.parts);
  // Another precision, and another size.
  EXPECT_FALSE(table.Find(Large(), ProductPrecision::kBf16));
  ProductSize other = Large();
  other.b_work = 0;
  EXPECT_FALSE(table.Find(other, ProductPrecision::kTf32));
}

TEST(TileTable, TextIsReadBack) {
  const TileTable table = Example();
  const std::string text = table.ToString();
  const auto read = TileTable::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->ToString(), text);
  EXPECT_EQ(read->size(), 3u);
  const StreamSize stream = {12, 512, 384, 64, 64, true};
  ASSERT_TRUE(read->Find(stream));
  EXPECT_EQ(read->Find(stream)->rows, StreamTiles(stream).back().rows);
  EXPECT_NE(text.find("tf32 1x512x512x512 work 0+2: "), std::string::npos) << text;
}

TEST(TileTable, LinesOfOtherProgramsAreLeftOut) {
  // A tile that is not in the space: its shape is gone, or the size does not allow it.
  for (const char* line :
       {"f32 1x64x64x64 work 0+0: 7x7x7 by 49, 1 us (before: 2)",
        "f32 1x1x64x64 work 0+0: 128x128x8 by 256, 1 us (before: 2)",
        "stream 1x64x64x64x64: 64x999, 1 us (before: 2)", "f32 7x7x7 by 49: factor 1.5 of 3"}) {
    const auto table = TileTable::Parse(line);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->ToString(), "") << line;
  }
}

TEST(TileTable, WrongLinesAreNamed) {
  const std::string right = "f32 1x64x64x64 work 0+0: 64x64x16 by 256, 1 us (before: 2)";
  ASSERT_EQ(TileTable::Parse(right)->size(), 1u);
  for (const char* line :
       {"nonsense", "f33 1x64x64x64 work 0+0: 64x64x16 by 256, 1 us (before: 2)",
        "f32 1x64x64 work 0+0: 64x64x16 by 256, 1 us (before: 2)",
        "f32 1x64x64x0 work 0+0: 64x64x16 by 256, 1 us (before: 2)",
        "f32 1x64x64x64 work 0: 64x64x16 by 256, 1 us (before: 2)",
        "f32 1x64x64x64 work 0+0: 64x64x16 by 256, -1 us (before: 2)",
        "f32 1x64x64x64 work 0+0: 64x64x16 by 256, inf us (before: 2)",
        "f32 1x64x64x64 work 0+0: 64x64x16 by 256", "f32 64x64x16 by 256: factor 0 of 3",
        "f32 64x64x16 by 256: factor 1 of 0", "stream 1x64x64x64: 64x64, 1 us (before: 2)"}) {
    const auto table = TileTable::Parse(line);
    ASSERT_FALSE(table.ok()) << line;
    EXPECT_NE(table.status().message().find(line), std::string::npos) << table.status();
  }
}

TEST(TileTable, TheModelLearns) {
  TileTable table;
  EXPECT_TRUE(table.Factors(ProductPrecision::kF32).empty());
  const ProductSize size = {1, 1000, 1000, 1000};
  const TileChoice before = table.Choose(size, ProductPrecision::kF32);
  // The tile turns out to take three times as long as predicted, others as predicted.
  for (int i = 0; i < 3; ++i) table.Learn(before.tile, ProductPrecision::kF32, 30, 10);
  const auto tiles = static_cast<int>(TileShapes(ProductPrecision::kF32).size());
  for (int t = 0; t < tiles; ++t) {
    for (int i = 0; i < 3 && t != before.tile; ++i) table.Learn(t, ProductPrecision::kF32, 5, 5);
  }
  EXPECT_NEAR(table.Factors(ProductPrecision::kF32)[before.tile], 3, 1e-9);
  EXPECT_NE(table.Choose(size, ProductPrecision::kF32).tile, before.tile);
}

}  // namespace
}  // namespace lemma::codegen
