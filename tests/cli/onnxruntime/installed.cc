#include "tests/cli/onnxruntime/installed.h"

#include <pwd.h>
#include <unistd.h>

#include <filesystem>

namespace lemma {

std::string InstalledOnnxRuntime() {
  namespace fs = std::filesystem;
  const passwd* user = getpwuid(getuid());
  if (user == nullptr) return "";
  std::error_code error;
  const fs::path folder = fs::path(user->pw_dir) / ".cache/lemma/ort";
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    const fs::path& path = entry.path();
    if (path.filename() == "libonnxruntime.so.1" && path.parent_path().filename() == "x64") {
      return path.string();
    }
  }
  return "";
}

}  // namespace lemma
