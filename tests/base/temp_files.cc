#include "tests/base/temp_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lemma {

std::string NewFolder() {
  static int count = 0;
  const char* base = std::getenv("TEST_TMPDIR");
  std::string folder = std::string(base == nullptr ? "/tmp" : base) + "/lemma_" +
                       std::to_string(getpid()) + "_" + std::to_string(count++);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::string WriteTemp(const std::string& name, const std::string& bytes) {
  std::string path = NewFolder() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace lemma
