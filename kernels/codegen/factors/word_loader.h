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

// A factor and its tile.
struct FactorTile {
  const char* name;  // "a", "b"
  int64_t rows, total_rows;
  int64_t words, total_depth;
  int64_t threads;
};

// How numbers become words.
struct WordFormat {
  int numbers = 1;    // in a word, at adjacent depths
  std::string make;   // the prelude's function that makes a word of numbers
  std::string type;   // of the numbers: "float" or "int"
  int arguments = 2;  // of `make`; more than `numbers` if it ignores the last one
};

// Prints the code that moves one factor into shared memory. A thread moves units: numbers that are
// adjacent in memory, if four of them can be one access, and enough rows or depth to fill words.
class WordLoader {
 public:
  // `nest` is the factor, lowered by LowerMerged with `batch` axes in front; it must outlive the
  // loader. Its values are printed in the context's numbers.
  WordLoader(const KernelContext& context, const loops::Nest& nest, int batch,
             const FactorTile& tile, WordFormat format);

  // Words of shared memory for two stages, and the declaration of the tile from word `first` on.
  int64_t SharedWords() const { return 2 * Lines() * LineWords(); }
  std::string Declaration(int64_t first) const {
    return absl::StrCat("unsigned int (*const ", tile_.name, "_tile)[", Lines(), "][", LineWords(),
                        "] = reinterpret_cast<unsigned int (*)[", Lines(), "][", LineWords(),
                        "]>(shared_words + ", first, ");\n");
  }
  // Follows the declaration of the batch's variables and NAME_first.
  const std::string& before() const { return before_; }
  // From memory to registers, and then to shared memory.
  const std::string& load() const { return load_; }
  const std::string& store() const { return store_; }
  // The word at a row and a word of depth.
  std::string At(const std::string& row, const std::string& word) const {
    return along_depth_ ? absl::StrCat(tile_.name, "_tile[stage][", row, "][", word, "]")
                        : absl::StrCat(tile_.name, "_tile[stage][", word, "][", row, "]");
  }
  NestPrinter& printer() { return printer_; }

 private:
  // A line of the tile is a row, or a word of depth; its words are padded, so that the lanes of a
  // warp read different banks.
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
