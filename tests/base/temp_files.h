// Creates and reads temporary files and folders in tests. Nothing is removed at the end of a test.
#ifndef LEMMA_TESTS_BASE_TEMP_FILES_H_
#define LEMMA_TESTS_BASE_TEMP_FILES_H_

#include <string>
#include <vector>

namespace lemma {

// The path of a new, empty folder.
std::string NewFolder();
// Writes `bytes` to a file called `name` in a new folder; returns the file's path.
std::string WriteTemp(const std::string& name, const std::string& bytes);
// The content of a file; "" if it cannot be read.
std::string ReadAll(const std::string& path);
// The names of the files and folders in a folder, sorted.
std::vector<std::string> FilesIn(const std::string& folder);

}  // namespace lemma

#endif  // LEMMA_TESTS_BASE_TEMP_FILES_H_
