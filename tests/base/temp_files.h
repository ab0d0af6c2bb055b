// Creates and reads temporary files and folders in tests.
#ifndef LEMMA_TESTS_BASE_TEMP_FILES_H_
#define LEMMA_TESTS_BASE_TEMP_FILES_H_

#include <string>
#include <vector>

namespace lemma {

// A new, empty folder.
std::string NewFolder();
// Writes `bytes` to a file of that name in a new folder; returns its path.
std::string WriteTemp(const std::string& name, const std::string& bytes);
std::string ReadAll(const std::string& path);
// Names of the files in a folder, sorted.
std::vector<std::string> FilesIn(const std::string& folder);

}  // namespace lemma

#endif  // LEMMA_TESTS_BASE_TEMP_FILES_H_
