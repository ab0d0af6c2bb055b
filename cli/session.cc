// lemma session: executes a model for another program (api/execution/session_server.h).
#include "api/session.h"

#include <algorithm>
#include <cstdio>

#include "api/execution/session_server.h"
#include "base/flags.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
absl::StatusOr<int> RunSession(Arguments arguments) {
  CommonFlags common;
  int64_t max_plans = api::SessionOptions().max_plans;
  Flags flags("session", "MODEL",
              "Executes a model for another program: reads requests and inputs from standard "
              "input, writes outputs to standard output. docs/python.md describes the form.");
  flags.Int("max-plans", &max_plans, "sizes of symbolic dimensions that stay prepared");
  common.AddExecution(&flags);
  common.AddModel(&flags);
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    common.symbolic = common.json = true;
    auto model = common.Load(path);
    if (!model.ok()) return model.status();
    api::SessionOptions options;
    options.execution = common.Execution();
    options.max_plans = static_cast<int>(std::min<int64_t>(max_plans, 1 << 20));
    auto session = api::Session::Open(*model, options);
    if (!session.ok()) return WithFlags(session.status());
    if (absl::Status s = api::ServeSession(session->get(), stdin, stdout); !s.ok()) return s;
    return kExitOk;
  });
}

}  // namespace lemma::cli
