// Parses command lines by a table of flags, each bound to a variable.
#ifndef LEMMA_BASE_FLAGS_H_
#define LEMMA_BASE_FLAGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lemma {

// The flags of one command. A variable keeps its value, the default, unless its flag is given.
class Flags {
 public:
  // `synopsis` is the text after the command's name: "MODEL -o OUT".
  Flags(std::string command, std::string synopsis, std::string doc);

  // `name` without dashes; "output|o" has the short form -o. `value` stands for the argument in the
  // help text, such as FILE. `doc` is one line.
  void Bool(absl::string_view name, bool* target, std::string doc);
  void Int(absl::string_view name, int64_t* target, std::string doc);
  void Real(absl::string_view name, double* target, std::string doc);
  // 500M, 2G, 1.5G: a letter stands for a power of 1024.
  void Bytes(absl::string_view name, int64_t* target, std::string doc);
  void String(absl::string_view name, std::string* target, std::string value, std::string doc);
  void Choice(absl::string_view name, std::string* target, std::vector<std::string> choices,
              std::string doc);
  // Comma-separated; may be given several times.
  void List(absl::string_view name, std::vector<std::string>* target, std::string value,
            std::string doc);
  // NAME=N; may be given several times.
  void Sizes(absl::string_view name, std::map<std::string, int64_t>* target, std::string doc);
  // NAME=N,... each time it is given: one more set of sizes.
  void SizeSets(absl::string_view name, std::vector<std::map<std::string, int64_t>>* target,
                std::string doc);
  // NAME=LEAST:MOST; may be given several times.
  void Ranges(absl::string_view name, std::map<std::string, std::pair<int64_t, int64_t>>* target,
              std::string doc);
  // Adds a line below the flags in the help text, such as an example.
  void Note(std::string text) { notes_.push_back(std::move(text)); }

  // Reads --name=value, --name value, -o value, --switch; "--" ends the flags. Returns the
  // remaining arguments. InvalidArgument names an unknown flag (with the nearest known one), or a
  // missing or bad value.
  absl::StatusOr<std::vector<std::string>> Parse(absl::Span<const std::string> arguments);
  bool Given(const std::string& name) const { return given_.count(name) > 0; }
  // Whether --help was among the arguments. The other arguments are then unchecked.
  bool help() const { return help_; }
  std::string Help() const;

 private:
  struct Flag {
    std::string name, short_name, value, doc, default_text;
    bool is_switch = false;
    std::function<absl::Status(const std::string&)> set;
  };
  void Add(absl::string_view name, Flag flag);
  const Flag* Find(absl::string_view name) const;
  absl::Status Unknown(absl::string_view given) const;

  std::string command_, synopsis_, doc_;
  std::vector<Flag> flags_;
  std::vector<std::string> notes_;
  std::set<std::string> given_;
  bool help_ = false;
};

// The candidate most similar to `given`, or "" if none is near; for "did you mean".
std::string Nearest(absl::string_view given, absl::Span<const std::string> candidates);

}  // namespace lemma

#endif  // LEMMA_BASE_FLAGS_H_
