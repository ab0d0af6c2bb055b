#include "base/flags.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/json.h"

namespace lemma {
namespace {

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      int best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = std::exchange(row[j], best);
    }
  }
  return row.back();
}

absl::Status Bad(absl::string_view text, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not ", wanted));
}

// Units of sizes, by the power of 1024.
constexpr absl::string_view kUnits = "KMGT";

}  // namespace

std::string Nearest(absl::string_view given, absl::Span<const std::string> candidates) {
  std::string best;
  for (const std::string& candidate : candidates) {
    const bool is_shorter = best.empty() || candidate.size() < best.size();
    if (given.size() >= 3 && absl::StartsWith(candidate, given) && is_shorter) best = candidate;
  }
  if (!best.empty()) return best;
  int least = static_cast<int>(given.size()) / 3 + 1;
  for (const std::string& candidate : candidates) {
    int distance = EditDistance(given, candidate);
    if (distance < least || (distance == least && best.empty())) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

Flags::Flags(std::string command, std::string synopsis, std::string doc)
    : command_(std::move(command)), synopsis_(std::move(synopsis)), doc_(std::move(doc)) {}

void Flags::Add(absl::string_view name, Flag flag) {
  std::pair<std::string, std::string> names = absl::StrSplit(name, absl::MaxSplits('|', 1));
  flag.name = names.first;
  flag.short_name = names.second;
  flags_.push_back(std::move(flag));
}

void Flags::Bool(absl::string_view name, bool* target, std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.is_switch = true;
  flag.set = [target](const std::string& text) {
    return absl::SimpleAtob(text, target) ? absl::OkStatus() : Bad(text, "true or false");
  };
  Add(name, std::move(flag));
}

void Flags::Int(absl::string_view name, int64_t* target, std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = "N";
  flag.default_text = absl::StrCat(*target);
  flag.set = [target](const std::string& text) {
    return absl::SimpleAtoi(text, target) ? absl::OkStatus() : Bad(text, "a whole number");
  };
  Add(name, std::move(flag));
}

void Flags::Real(absl::string_view name, double* target, std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = "X";
  flag.default_text = absl::StrCat(*target);
  flag.set = [target](const std::string& text) {
    return absl::SimpleAtod(text, target) ? absl::OkStatus() : Bad(text, "a number");
  };
  Add(name, std::move(flag));
}

void Flags::OptionalReal(absl::string_view name, std::optional<double>* target, double implied,
                         std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = "X";
  flag.default_text = absl::StrCat("none; ", implied, " without =X");
  flag.is_switch = true;
  flag.set = [target, implied](const std::string& text) {
    double number = implied;
    if (text != "true" && !absl::SimpleAtod(text, &number)) return Bad(text, "a number");
    *target = number;
    return absl::OkStatus();
  };
  Add(name, std::move(flag));
}

void Flags::Bytes(absl::string_view name, int64_t* target, std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = "SIZE";
  flag.set = [target](const std::string& text) {
    std::string upper = absl::AsciiStrToUpper(text);
    absl::string_view digits = upper;
    // 500000, 500K, 500k, 500KB and 500KiB; K always means 1024.
    if (!absl::ConsumeSuffix(&digits, "IB")) absl::ConsumeSuffix(&digits, "B");
    const bool has_b = digits.size() < upper.size();
    int power = 0;
    if (!digits.empty()) {
      const size_t letter = kUnits.find(digits.back());
      if (letter != absl::string_view::npos) power = static_cast<int>(letter) + 1;
    }
    if (power > 0) digits.remove_suffix(1);
    double number = 0;
    const bool is_number = !digits.empty() && absl::ascii_isdigit(digits.back()) &&
                           absl::SimpleAtod(digits, &number) && number > 0;
    if (!is_number || (power == 0 && has_b && upper.size() - digits.size() > 1)) {
      return Bad(text, "a size such as 500000, 64K, 500M or 2GB");
    }
    const double bytes = std::ldexp(number, 10 * power);
    if (bytes > 1e18) return Bad(text, "a size that a machine has");
    *target = static_cast<int64_t>(bytes);
    return absl::OkStatus();
  };
  Add(name, std::move(flag));
}

void Flags::String(absl::string_view name, std::string* target, std::string value,
                   std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = std::move(value);
  flag.default_text = *target;
  flag.set = [target](const std::string& text) {
    *target = text;
    return absl::OkStatus();
  };
  Add(name, std::move(flag));
}

void Flags::Choice(absl::string_view name, std::string* target, std::vector<std::string> choices,
                   std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = absl::StrJoin(choices, "|");
  flag.choices = choices;
  flag.default_text = *target;
  flag.set = [target, choices = std::move(choices)](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      return Bad(text, absl::StrCat("one of ", absl::StrJoin(choices, ", ")));
    }
    *target = text;
    return absl::OkStatus();
  };
  Add(name, std::move(flag));
}

void Flags::List(absl::string_view name, std::vector<std::string>* target, std::string value,
                 std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = std::move(value);
  flag.set = [target](const std::string& text) {
    for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      target->emplace_back(item);
    }
    return absl::OkStatus();
  };
  Add(name, std::move(flag));
}

static absl::Status ReadSizes(const std::string& text, std::map<std::string, int64_t>* sizes) {
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const size_t equals = item.rfind('=');
    int64_t size = 0;
    if (equals == absl::string_view::npos || equals == 0 ||
        !absl::SimpleAtoi(item.substr(equals + 1), &size) || size < 0) {
      return Bad(item, "NAME=N with a size N >= 0");
    }
    (*sizes)[std::string(item.substr(0, equals))] = size;
  }
  return absl::OkStatus();
}

void Flags::Sizes(absl::string_view name, std::map<std::string, int64_t>* target, std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = "NAME=N";
  flag.set = [target](const std::string& text) { return ReadSizes(text, target); };
  Add(name, std::move(flag));
}

void Flags::SizeSets(absl::string_view name, std::vector<std::map<std::string, int64_t>>* target,
                     std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = "NAME=N,...";
  flag.set = [target](const std::string& text) { return ReadSizes(text, &target->emplace_back()); };
  Add(name, std::move(flag));
}

void Flags::Ranges(absl::string_view name,
                   std::map<std::string, std::pair<int64_t, int64_t>>* target, std::string doc) {
  Flag flag;
  flag.doc = std::move(doc);
  flag.value = "NAME=LEAST:MOST";
  flag.set = [target](const std::string& text) {
    for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      const size_t equals = item.rfind('=');
      const std::vector<absl::string_view> ends =
          absl::StrSplit(item.substr(std::min(item.size(), equals + 1)), ':');
      int64_t least = 0, most = 0;
      if (equals == absl::string_view::npos || equals == 0 || ends.size() != 2 ||
          !absl::SimpleAtoi(ends[0], &least) || !absl::SimpleAtoi(ends[1], &most) || least < 1 ||
          most < least || most > INT32_MAX) {
        return Bad(item, "NAME=LEAST:MOST with 1 <= LEAST <= MOST < 2^31");
      }
      (*target)[std::string(item.substr(0, equals))] = {least, most};
    }
    return absl::OkStatus();
  };
  Add(name, std::move(flag));
}

const Flags::Flag* Flags::Find(absl::string_view name) const {
  for (const Flag& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

absl::Status Flags::Unknown(absl::string_view given) const {
  std::vector<std::string> names = {"--help"};
  for (const Flag& flag : flags_) names.push_back("--" + flag.name);
  std::string nearest = Nearest(given, names);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown flag ", given,
                   nearest.empty() ? absl::StrCat("; see lemma ", command_, " --help")
                                   : absl::StrCat("; did you mean ", nearest, "?")));
}

absl::StatusOr<std::vector<std::string>> Flags::Parse(absl::Span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "--help" || argument == "-h" || absl::StartsWith(argument, "--help=")) {
      help_ = true;
      help_is_json_ = argument == "--help=json";
      return std::vector<std::string>();
    }
  }
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      rest.insert(rest.end(), arguments.begin() + i + 1, arguments.end());
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      rest.push_back(argument);
      continue;
    }
    absl::string_view body = argument;
    const bool is_long = absl::ConsumePrefix(&body, "--");
    if (!is_long) body.remove_prefix(1);
    const size_t equals = is_long ? body.find('=') : absl::string_view::npos;
    const absl::string_view name = body.substr(0, equals);
    const Flag* flag = nullptr;
    if (is_long) flag = Find(name);
    for (const Flag& candidate : flags_) {
      if (!is_long && candidate.short_name == name) flag = &candidate;
    }
    const std::string shown = argument.substr(0, argument.find('='));
    if (flag == nullptr) return Unknown(shown);
    given_.insert(flag->name);
    std::string value = "true";
    if (equals != absl::string_view::npos) {
      value = std::string(body.substr(equals + 1));
    } else if (!flag->is_switch) {
      if (i + 1 == arguments.size()) {
        return absl::InvalidArgumentError(absl::StrCat(shown, " needs a value: ", flag->value));
      }
      value = arguments[++i];
    }
    if (absl::Status s = flag->set(value); !s.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(shown, ": ", s.message()));
    }
  }
  return rest;
}

std::string Flags::Help() const { return help_is_json_ ? HelpJson() : HelpText(); }

std::string Flags::HelpJson() const {
  Json flags = Json::Array();
  for (const Flag& flag : flags_) {
    Json entry = Json::Object();
    entry.Set("name", flag.name).Set("short", flag.short_name).Set("doc", flag.doc);
    entry.Set("value", flag.value).Set("choices", Json::Texts(flag.choices));
    entry.Set("default", flag.default_text);
    flags.Add(std::move(entry));
  }
  Json result = Json::Object();
  result.Set("command", command_).Set("synopsis", synopsis_).Set("doc", doc_);
  result.Set("flags", std::move(flags)).Set("subcommands", Json::Texts(subcommands_));
  result.Set("notes", Json::Texts(notes_));
  return result.ToString() + "\n";
}

std::string Flags::HelpText() const {
  std::string text = absl::StrCat("Usage: lemma ", command_, " ", synopsis_, "\n\n", doc_, "\n\n");
  std::vector<std::pair<std::string, std::string>> rows;
  size_t width = 0;
  auto add = [&](std::string left, std::string right) {
    if (left.size() <= 28) width = std::max(width, left.size());
    rows.emplace_back(std::move(left), std::move(right));
  };
  for (const Flag& flag : flags_) {
    std::string left = flag.short_name.empty() ? "" : absl::StrCat("-", flag.short_name, ", ");
    absl::StrAppend(&left, "--", flag.name);
    if (!flag.value.empty()) {
      absl::StrAppend(&left, flag.is_switch ? absl::StrCat("[=", flag.value, "]")
                                            : absl::StrCat(" ", flag.value));
    }
    std::string right = flag.doc;
    if (!flag.default_text.empty()) {
      absl::StrAppend(&right, " (default ", flag.default_text, ")");
    }
    add(std::move(left), std::move(right));
  }
  add("--help", "print this");
  for (const auto& [left, right] : rows) {
    absl::StrAppend(&text, "  ", left);
    const std::string indent(width + 4, ' ');
    if (left.size() > width) {
      absl::StrAppend(&text, "\n", indent, right, "\n");
    } else {
      absl::StrAppend(&text, std::string(width + 2 - left.size(), ' '), right, "\n");
    }
  }
  if (!subcommands_.empty()) {
    absl::StrAppend(&text, "\nMore help: lemma ", command_, " ", absl::StrJoin(subcommands_, "|"),
                    " --help\n");
  }
  for (const std::string& note : notes_) absl::StrAppend(&text, "\n", note, "\n");
  return text;
}

}  // namespace lemma
