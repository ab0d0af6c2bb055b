"""Reads link flags of system libraries from pkg-config into `defs.bzl`."""

_ABSL = [
    "absl_" + part
    for part in [
        "algorithm_container",
        "base",
        "bits",
        "btree",
        "cleanup",
        "fixed_array",
        "flags",
        "flags_parse",
        "flags_usage",
        "flat_hash_map",
        "flat_hash_set",
        "function_ref",
        "hash",
        "inlined_vector",
        "memory",
        "node_hash_map",
        "node_hash_set",
        "numeric",
        "optional",
        "random_distributions",
        "random_random",
        "span",
        "status",
        "statusor",
        "str_format",
        "strings",
        "synchronization",
        "time",
        "variant",
    ]
]

def _link_flags(ctx, packages):
    """Returns the libraries of `packages`; fails with what to install when one is unknown."""
    result = ctx.execute(["pkg-config", "--libs"] + packages)
    if result.return_code != 0:
        fail("pkg-config does not know {}: run tools/install.\n{}".format(
            packages,
            result.stderr,
        ))
    return [flag for flag in result.stdout.split(" ") if flag.strip().startswith("-l")]

def _impl(ctx):
    absl = [flag.strip() for flag in _link_flags(ctx, _ABSL)]
    ctx.file("BUILD.bazel", "")
    ctx.file("defs.bzl", "ABSL_LINKOPTS = {}\n".format(absl))

system_packages = repository_rule(
    implementation = _impl,
    environ = ["PKG_CONFIG_PATH"],
    local = True,
)
