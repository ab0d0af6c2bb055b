#include "base/mapped_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;

std::string Written(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(MappedFileTest, HasTheBytes) {
  const std::string path = Written("whole", "some bytes");
  auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->bytes(), "some bytes");
  EXPECT_EQ((*MappedFile::Open(Written("empty", "")))->bytes(), "");
}

TEST(MappedFileTest, NamesWhatItCannotOpen) {
  const std::string missing = testing::TempDir() + "/missing";
  EXPECT_TRUE(absl::IsNotFound(MappedFile::Open(missing).status()));
  EXPECT_EQ(MappedFile::Open(testing::TempDir()).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::string fifo = testing::TempDir() + "/mapped_fifo";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(MappedFile::Open(fifo).status().message().find("not a regular file"),
            std::string::npos);
}

TEST(MappedFileTest, KnowsWhetherTheFileWasWrittenTo) {
  const std::string path = Written("written", "some bytes");
  auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->CheckUnchanged().ok());
  // Another file in its place leaves the mapped one as it was.
  fs::rename(Written("other", "other bytes"), path);
  EXPECT_TRUE((*file)->CheckUnchanged().ok());
  EXPECT_EQ((*file)->bytes(), "some bytes");
  auto now = MappedFile::Open(path);
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_TRUE(absl::IsAborted((*now)->CheckUnchanged()));
}

TEST(MappedFileTest, AnAddressTellsTheFile) {
  const std::string path = Written("address", "some bytes");
  const void* address = nullptr;
  {
    auto file = MappedFile::Open(path);
    ASSERT_TRUE(file.ok());
    address = (*file)->bytes().data() + 9;
    ASSERT_NE(MappedFileAt(address), nullptr);
    EXPECT_EQ(MappedFileAt(address), path);
    EXPECT_EQ(MappedFileAt((*file)->bytes().data() - 1), nullptr);
  }
  EXPECT_EQ(MappedFileAt(address), nullptr);
}

}  // namespace
}  // namespace lemma
