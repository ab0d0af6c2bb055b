// Prints the code that moves a factor of a product on tensor cores into shared memory, as words of
// 32 bits. Internal to kernels/codegen.
#ifndef LEMMA_KERNELS_CODEGEN_FACTORS_WORD_LOADER_H_
#define LEMMA_KERNELS_CODEGEN_FACTORS_WORD_LOADER_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/codegen/nest_printer.h"
#include "kernels/codegen/schedules.h"
#include "kernels/loops/loop_ir.h"

namespace lemma::codegen {

// A factor of a product, and the tile of it that a block holds. The depth is the index that the
// product sums over.
struct FactorTile {
  const char* name;          // "a" or "b": the prefix of the names in the code
  int64_t rows, total_rows;  // of the tile; of the factor
  int64_t words;             // of 32 bits, in a row of the tile
  int64_t total_depth;       // of the factor, in numbers
  int64_t threads;           // of the block
};

// How numbers become words.
struct WordFormat {
  int numbers = 1;    // in a word, at adjacent depths
  std::string make;   // the prelude's function that makes a word of numbers
  std::string type;   // of the numbers: "float" or "int"
  int arguments = 2;  // of `make`; more than `numbers` if it ignores the last one
};

// Prints the code that moves one factor into shared memory. Each thread moves
// units, which are small blocks of numbers. One memory access loads P numbers
// of a unit; P is 1 if fewer than four numbers can be loaded at once. If
// numbers are adjacent along the depth, a unit has one row and max(P,
// WordFormat::numbers) depths; otherwise it has P rows and WordFormat::numbers
// depths.
//
// The code expects these names in the kernel: `shared_words`, the words of shared memory;
// `NAME_first`, the tile's first row; `depth`, the step's first depth; and `stage`, 0 or 1. NAME is
// FactorTile::name.
class WordLoader {
 public:
  // `nest` is the factor, lowered by LowerMerged with `batch` axes in front; it must outlive the
  // loader. Its values are computed in the arithmetic KernelContext::number.
  WordLoader(const KernelContext& context, const loops::Nest& nest, int batch,
             const FactorTile& tile, WordFormat format);

  // The words of shared memory that both stages of the tile take.
  int64_t SharedWords() const { return 2 * Lines() * LineWords(); }
  // Declares the tile, which begins at word `first` of shared_words.
  std::string Declaration(int64_t first) const {
    return absl::StrCat("unsigned int (*const ", tile_.name, "_tile)[", Lines(), "][", LineWords(),
                        "] = reinterpret_cast<unsigned int (*)[", Lines(), "][", LineWords(),
                        "]>(shared_words + ", first, ");\n");
  }
  // Code to insert in front of the loop over the depth, behind the declarations
  // of the batch's variables and of NAME_first.
  const std::string& before() const { return before_; }
  // `load` moves a step's numbers from memory to registers; `store` makes words of them in shared
  // memory.
  const std::string& load() const { return load_; }
  const std::string& store() const { return store_; }
  // The expression of word number `word` along the depth in row `row`. Both
  // numbers count from the start of the tile.
  std::string At(const std::string& row, const std::string& word) const {
    return along_depth_ ? absl::StrCat(tile_.name, "_tile[stage][", row, "][", word, "]")
                        : absl::StrCat(tile_.name, "_tile[stage][", word, "][", row, "]");
  }
  NestPrinter& printer() { return printer_; }

 private:
  // A line of the tile has the words of one row if along_depth_, otherwise one word of each row.
  // Lines are padded, so that the lanes of a warp read different banks.
  int64_t Lines() const { return along_depth_ ? tile_.rows : tile_.words; }
  int64_t LineWords() const { return along_depth_ ? tile_.words + 4 : tile_.rows + 8; }

  void Write(int pack, const std::string& value, const std::string& number,
             const std::string& inside, const std::string& single, const std::string& unit,
             const std::string& kernel);
  // The code that packs a unit's numbers into words and stores them.
  std::string StoreText(const std::string& rounds_loop, const std::string& row_at,
                        const std::string& depth_at) const;

  NestPrinter printer_;
  FactorTile tile_;
  WordFormat format_;
  bool along_depth_ = false;
  int unit_rows_ = 1, unit_depth_ = 1;
  std::string row_name_, depth_name_, before_, load_, store_;
};

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_FACTORS_WORD_LOADER_H_
