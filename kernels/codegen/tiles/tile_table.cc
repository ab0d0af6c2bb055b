#include "kernels/codegen/tiles/tile_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lemma::codegen {
namespace {

constexpr char kStream[] = "stream";

// The numbers of "8x128x64x512".
std::optional<std::vector<int64_t>> NumbersIn(absl::string_view text, size_t count) {
  std::vector<int64_t> numbers;
  for (absl::string_view part : absl::StrSplit(text, 'x')) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < 1) return std::nullopt;
    numbers.push_back(number);
  }
  if (numbers.size() != count) return std::nullopt;
  return numbers;
}

// The inverse of TunedSize::ToString.
std::optional<TunedSize> SizeIn(absl::string_view text) {
  std::vector<absl::string_view> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.size() < 2) return std::nullopt;
  TunedSize size;
  if (words[0] == kStream) {
    const auto numbers = NumbersIn(words[1], 5);
    if (!numbers || words.size() > 3 || (words.size() == 3 && words[2] != "masked")) {
      return std::nullopt;
    }
    size.stream = {(*numbers)[0], (*numbers)[1], (*numbers)[2],
                   (*numbers)[3], (*numbers)[4], words.size() == 3};
    return size;
  }
  const std::optional<ProductPrecision> precision = ParseProductPrecision(words[0]);
  const auto numbers = NumbersIn(words[1], 4);
  if (!precision || !numbers || words.size() < 4 || words.size() > 5 || words[2] != "work" ||
      (words.size() == 5 && words[4] != "bulk")) {
    return std::nullopt;
  }
  size.precision = *precision;
  size.product = {(*numbers)[0], (*numbers)[1], (*numbers)[2], (*numbers)[3]};
  const std::vector<absl::string_view> work = absl::StrSplit(words[3], '+');
  if (work.size() != 2 || !absl::SimpleAtoi(work[0], &size.product->a_work) ||
      !absl::SimpleAtoi(work[1], &size.product->b_work)) {
    return std::nullopt;
  }
  size.product->bulk = words.size() == 5;
  return size;
}

// The tile of the size's space that `text` names; nullopt if there is none.
std::optional<TunedTile> TileIn(absl::string_view text, const TunedSize& size) {
  TunedTile tile;
  if (!size.product) {
    for (const StreamTile& stream : StreamTiles(size.stream)) {
      tile.stream = stream;
      if (NameOf(stream) == text) return tile;
    }
    return std::nullopt;
  }
  for (const TileChoice& choice : TileChoices(*size.product, size.precision)) {
    tile.choice = choice;
    if (NameOf(choice, size.precision) == text) return tile;
  }
  return std::nullopt;
}

}  // namespace

std::string NameOf(const StreamTile& tile) { return absl::StrCat(tile.rows, "x", tile.keys); }

std::string NameOf(const TileChoice& choice, ProductPrecision precision) {
  return absl::StrCat(TileShapes(precision)[choice.tile].ToString(),
                      choice.parts > 1 ? absl::StrCat(" in ", choice.parts, " parts") : "");
}

std::string TunedSize::ToString() const {
  if (!product) {
    return absl::StrCat(kStream, " ", stream.batch, "x", stream.m, "x", stream.keys, "x",
                        stream.depth, "x", stream.n, stream.masked ? " masked" : "");
  }
  return absl::StrCat(Name(precision), " ", product->batch, "x", product->m, "x", product->n, "x",
                      product->k, " work ", product->a_work, "+", product->b_work,
                      product->bulk ? " bulk" : "");
}

const TunedTile* TileTable::Find(const TunedSize& size) const {
  auto it = tiles_.find(size.ToString());
  return it == tiles_.end() ? nullptr : &it->second;
}

std::optional<TileChoice> TileTable::Find(const ProductSize& size,
                                          ProductPrecision precision) const {
  const TunedTile* tile = Find({size, precision, {}});
  return tile == nullptr ? std::nullopt : std::optional<TileChoice>(tile->choice);
}

std::optional<StreamTile> TileTable::Find(const StreamSize& size) const {
  const TunedTile* tile = Find({std::nullopt, ProductPrecision::kF32, size});
  return tile == nullptr ? std::nullopt : std::optional<StreamTile>(tile->stream);
}

void TileTable::Set(const TunedSize& size, const TunedTile& tile) {
  tiles_[size.ToString()] = tile;
}

void TileTable::Learn(int tile, ProductPrecision precision, double microseconds, double predicted) {
  Experience& experience = experience_[{precision, tile}];
  experience.logarithms += std::log(microseconds / predicted);
  ++experience.count;
}

std::vector<double> TileTable::Factors(ProductPrecision precision) const {
  constexpr int kEnough = 3;
  const auto tiles = static_cast<int>(TileShapes(precision).size());
  Experience all;
  for (int t = 0; t < tiles; ++t) {
    auto it = experience_.find({precision, t});
    if (it == experience_.end()) continue;
    all.logarithms += it->second.logarithms;
    all.count += it->second.count;
  }
  if (all.count == 0) return {};
  std::vector<double> factors(tiles, std::exp(all.logarithms / all.count));
  for (int t = 0; t < tiles; ++t) {
    auto it = experience_.find({precision, t});
    if (it == experience_.end() || it->second.count < kEnough) continue;
    factors[t] = std::exp(it->second.logarithms / it->second.count);
  }
  return factors;
}

TileChoice TileTable::Choose(const ProductSize& size, ProductPrecision precision) const {
  const std::optional<TileChoice> tuned = Find(size, precision);
  return tuned ? *tuned : ChooseTile(size, precision, Factors(precision));
}

std::string TileTable::ToString() const {
  std::string text;
  for (const auto& [key, tile] : tiles_) {
    const TunedSize size = *SizeIn(key);
    absl::StrAppend(&text, key, ": ",
                    size.product ? NameOf(tile.choice, size.precision) : NameOf(tile.stream), ", ",
                    tile.microseconds, " us (before: ", tile.model_microseconds, ")\n");
  }
  for (const auto& [key, experience] : experience_) {
    absl::StrAppend(&text, Name(key.first), " ", TileShapes(key.first)[key.second].ToString(),
                    ": factor ", std::exp(experience.logarithms / experience.count), " of ",
                    experience.count, "\n");
  }
  return text;
}

absl::StatusOr<TileTable> TileTable::Parse(absl::string_view text) {
  TileTable table;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    auto wrong = [&] {
      return absl::InvalidArgumentError(absl::StrCat("'", line, "' is not a size and its tile"));
    };
    std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (absl::ConsumePrefix(&sides.second, "factor ")) {
      const std::pair<absl::string_view, absl::string_view> names =
          absl::StrSplit(sides.first, absl::MaxSplits(' ', 1));
      const std::pair<absl::string_view, absl::string_view> numbers =
          absl::StrSplit(sides.second, absl::MaxSplits(" of ", 1));
      const std::optional<ProductPrecision> precision = ParseProductPrecision(names.first);
      double factor = 0;
      int count = 0;
      if (!precision || !absl::SimpleAtod(numbers.first, &factor) || !(factor > 0) ||
          !std::isfinite(factor) || !absl::SimpleAtoi(numbers.second, &count) || count < 1) {
        return wrong();
      }
      const absl::Span<const TileShape> shapes = TileShapes(*precision);
      const auto* const shape = std::find_if(shapes.begin(), shapes.end(), [&](const TileShape& s) {
        return s.ToString() == names.second;
      });
      if (shape == shapes.end()) continue;
      table.experience_[{*precision, static_cast<int>(shape - shapes.begin())}] = {
          std::log(factor) * count, count};
      continue;
    }
    const std::vector<absl::string_view> parts = absl::StrSplit(sides.second, ", ");
    const std::optional<TunedSize> size = SizeIn(sides.first);
    if (!size || parts.size() != 2) return wrong();
    std::pair<absl::string_view, absl::string_view> times =
        absl::StrSplit(parts[1], absl::MaxSplits(" us (before: ", 1));
    double now = 0, before = 0;
    if (!absl::ConsumeSuffix(&times.second, ")") || !absl::SimpleAtod(times.first, &now) ||
        !absl::SimpleAtod(times.second, &before) || !(now > 0) || !(before > 0) ||
        !std::isfinite(now) || !std::isfinite(before)) {
      return wrong();
    }
    std::optional<TunedTile> tile = TileIn(parts[0], *size);
    if (!tile) continue;
    tile->microseconds = now;
    tile->model_microseconds = before;
    table.Set(*size, *tile);
  }
  return table;
}

}  // namespace lemma::codegen
