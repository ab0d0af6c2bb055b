#include "pet/regions/region.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pet/regions/field_values.h"
#include "pet/regions/polynomial.h"

namespace lemma::pet {
namespace {

struct Cell {
  Box box;
  bool differs = false;
};

// Decides the box, or returns the pieces into which it must be cut.
absl::StatusOr<std::vector<Box>> Decide(const Value& original, const Value& mutant, const Box& box,
                                        int64_t* products_left, PolynomialReader* reader,
                                        bool* differs) {
  LEMMA_ASSIGN_OR_RETURN(Family a, reader->Read(original, box));
  if (!a.pieces.empty()) return std::move(a.pieces);
  LEMMA_ASSIGN_OR_RETURN(Family b, reader->Read(mutant, box));
  if (!b.pieces.empty()) return std::move(b.pieces);
  LEMMA_ASSIGN_OR_RETURN(const PolynomialDifference difference,
                         Compare(a.terms, b.terms, box, products_left));
  *differs = difference == PolynomialDifference::kEverywhere;
  if (difference != PolynomialDifference::kOpen) return std::vector<Box>();
  auto longest = std::max_element(box.begin(), box.end(),
                                  [](const Range& x, const Range& y) { return x.count < y.count; });
  std::vector<Box> halves(2, box);
  Range& left = halves[0][longest - box.begin()];
  Range& right = halves[1][longest - box.begin()];
  left = longest->Part(0, longest->count / 2);
  right = longest->Part(left.count, longest->count - left.count);
  return halves;
}

absl::StatusOr<std::vector<Cell>> CellsOf(const Value& original, const Value& mutant,
                                          const RegionOptions& options) {
  std::vector<Cell> cells;
  if (original.type().num_elements() == 0) return cells;
  PolynomialReader reader;
  int64_t products_left = options.max_products;
  std::vector<Box> pending = {WholeBox(original.shape())};
  while (!pending.empty()) {
    const Box box = std::move(pending.back());
    pending.pop_back();
    bool differs = false;
    LEMMA_ASSIGN_OR_RETURN(std::vector<Box> pieces,
                           Decide(original, mutant, box, &products_left, &reader, &differs));
    if (pieces.empty()) cells.push_back({box, differs});
    pending.insert(pending.end(), pieces.rbegin(), pieces.rend());
    if (static_cast<int64_t>(cells.size() + pending.size()) > options.max_cells) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", options.max_cells, " cells"));
    }
  }
  return cells;
}

absl::Status Disagreement(const std::vector<int64_t>& index, bool differs) {
  return absl::InternalError(absl::StrCat("the field test finds that the graphs ",
                                          differs ? "agree" : "differ", " at ",
                                          lemma::ToString(index), ", the proof says otherwise"));
}

// Runs both graphs on the same random input.
absl::Status TestWhole(const Graph& original, const Graph& mutant, const std::vector<Cell>& cells,
                       uint64_t seed, int64_t* tested) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> a, FieldValues(original, seed));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> b, FieldValues(mutant, seed));
  const std::vector<int64_t> strides = RowMajorStrides(original.outputs()[0].shape());
  absl::Status status;
  for (const Cell& cell : cells) {
    ForEachPosition(cell.box, [&](const std::vector<int64_t>& index) {
      size_t flat = 0;
      for (size_t d = 0; d < index.size(); ++d) flat += static_cast<size_t>(index[d] * strides[d]);
      if ((a[flat] != b[flat]) != cell.differs && status.ok()) {
        status = Disagreement(index, cell.differs);
      }
      ++*tested;
    });
  }
  return status;
}

// The corners of a box, and a position inside it that the seed selects.
std::vector<Box> Samples(const Box& box, uint64_t* state) {
  Box corners = box, inside = box;
  for (size_t d = 0; d < box.size(); ++d) {
    corners[d] = {box[d].start, std::min<int64_t>(box[d].count, 2), box[d].last() - box[d].start};
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const auto at = static_cast<int64_t>((*state >> 33) % static_cast<uint64_t>(box[d].count));
    inside[d] = box[d].Part(at, 1);
  }
  return {corners, inside};
}

absl::Status TestCorners(const Graph& original, const Graph& mutant, const std::vector<Cell>& cells,
                         uint64_t seed, int64_t* tested) {
  LEMMA_ASSIGN_OR_RETURN(FieldSampler a, FieldSampler::Create(original, seed));
  LEMMA_ASSIGN_OR_RETURN(FieldSampler b, FieldSampler::Create(mutant, seed));
  uint64_t state = seed;
  for (const Cell& cell : cells) {
    for (const Box& box : Samples(cell.box, &state)) {
      LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> x, a.Values(box));
      LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> y, b.Values(box));
      for (size_t i = 0; i < x.size(); ++i) {
        if ((x[i] != y[i]) == cell.differs) continue;
        std::vector<int64_t> index(box.size());
        for (size_t d = box.size(), rest = i; d-- > 0;) {
          const auto count = static_cast<size_t>(box[d].count);
          index[d] = box[d].start + static_cast<int64_t>(rest % count) * box[d].step;
          rest /= count;
        }
        return Disagreement(index, cell.differs);
      }
      *tested += static_cast<int64_t>(x.size());
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool Region::Contains(absl::Span<const int64_t> index) const {
  return std::any_of(differs.begin(), differs.end(),
                     [&](const Box& box) { return pet::Contains(box, index); });
}

absl::StatusOr<Region> FindRegion(const Graph& original, const Graph& mutant,
                                  const RegionOptions& options) {
  if (original.outputs().size() != 1 || mutant.outputs().size() != 1) {
    return absl::InvalidArgumentError("regions are of graphs with one output");
  }
  const Value &a = original.outputs()[0], &b = mutant.outputs()[0];
  if (a.type() != b.type()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the outputs are ", a.type().ToString(), " and ", b.type().ToString()));
  }
  if (!IsFloat(a.dtype())) {
    return absl::UnimplementedError(
        absl::StrCat("elements of ", a.type().ToString(), " are no real numbers"));
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Cell> cells, CellsOf(a, b, options));
  Region region;
  region.shape = a.shape();
  region.cells = static_cast<int64_t>(cells.size());
  for (const Cell& cell : cells) {
    if (!cell.differs) continue;
    region.parts.push_back(cell.box);
    region.positions += NumPositions(cell.box);
  }
  region.differs = MergeBoxes(region.parts);
  if (!options.compare_in_field) return region;
  LEMMA_ASSIGN_OR_RETURN(const double ops, OperationsOf(original));
  LEMMA_ASSIGN_OR_RETURN(const double mutant_ops, OperationsOf(mutant));
  const bool whole = ops + mutant_ops <= options.whole_test_ops;
  LEMMA_RETURN_IF_ERROR(
      (whole ? TestWhole : TestCorners)(original, mutant, cells, options.seed, &region.tested));
  return region;
}

absl::StatusOr<bool> AgreeEverywhere(const Value& a, const Value& b) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Cell> cells, CellsOf(a, b, RegionOptions()));
  return std::none_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.differs; });
}

absl::StatusOr<bool> AgreeAt(const Value& original, const Value& mutant,
                             absl::Span<const int64_t> index, int64_t max_products,
                             PolynomialReader* reader) {
  Box box;
  for (int64_t i : index) box.push_back({i, 1, 1});
  LEMMA_ASSIGN_OR_RETURN(const Family a, reader->Read(original, box));
  LEMMA_ASSIGN_OR_RETURN(const Family b, reader->Read(mutant, box));
  LEMMA_ASSIGN_OR_RETURN(const PolynomialDifference difference,
                         Compare(a.terms, b.terms, box, &max_products));
  return difference == PolynomialDifference::kNone;
}

}  // namespace lemma::pet
