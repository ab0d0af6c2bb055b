// lemma op: describes and computes an operator, or lists the operators.
#include <cstdio>
#include <string>

#include "api/inspect.h"
#include "base/flags.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

int List() {
  TextTable table({"<operator", "<group"});
  for (const api::OperatorEntry& entry : api::ListOperators()) {
    table.Row({entry.signature, entry.group});
  }
  std::fputs(table.ToString().c_str(), stdout);
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunOp(Arguments arguments) {
  Flags flags("op", "[NAME]",
              "Prints what the operator NAME computes, its attributes and an example, or lists all "
              "operators. An operand with ? may be left out, one with … repeats.");
  return ParseAndRun(&flags, arguments, [](const Positional& positional) -> absl::StatusOr<int> {
    auto name = OptionalArgument("NAME", positional);
    if (!name.ok()) return name.status();
    if (name->empty()) return List();
    auto page = api::OperatorPage(*name);
    if (!page.ok()) return page.status();
    std::fputs(page->c_str(), stdout);
    return kExitOk;
  });
}

}  // namespace lemma::cli
