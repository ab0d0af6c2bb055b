// Makes the bytes of .npz files, as NumPy's numpy.savez writes them.
#ifndef LEMMA_TESTS_API_QUANTIZATION_NPZ_FILE_H_
#define LEMMA_TESTS_API_QUANTIZATION_NPZ_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/models/npy.h"
#include "graph/tensor.h"

namespace lemma {

// The bytes of an archive with `arrays`, which are pairs of name and values. `method` is the number
// of the zip compression method that the headers state; the arrays are never compressed, even if
// `method` is not 0.
inline std::string NpzFile(const std::vector<std::pair<std::string, Tensor>>& arrays,
                           uint32_t method = 0) {
  auto number = [](uint64_t value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
    return bytes;
  };
  std::string file, directory;
  for (const auto& [array, tensor] : arrays) {
    const std::string content = *api::SerializeNpy(tensor), name = array + ".npy";
    const std::string common = number(20, 2) + number(0, 2) + number(method, 2) + number(0, 4) +
                               number(0, 4) + number(content.size(), 4) +
                               number(content.size(), 4) + number(name.size(), 2);
    // NumPy writes an extra field into the header before the content, but not into the directory.
    const std::string extra = number(1, 2) + number(16, 2) + std::string(16, '\0');
    directory += number(0x02014b50, 4) + number(20, 2) + common + number(0, 2) + number(0, 2) +
                 number(0, 2) + number(0, 2) + number(0, 4) + number(file.size(), 4) + name;
    file += number(0x04034b50, 4) + common + number(extra.size(), 2) + name + extra + content;
  }
  const std::string end = number(0x06054b50, 4) + number(0, 4) + number(arrays.size(), 2) +
                          number(arrays.size(), 2) + number(directory.size(), 4) +
                          number(file.size(), 4) + number(0, 2);
  return file + directory + end;
}

}  // namespace lemma

#endif  // LEMMA_TESTS_API_QUANTIZATION_NPZ_FILE_H_
