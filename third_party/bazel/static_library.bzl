"""One static library of targets and all that they depend on, for programs that Bazel does not build."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    info = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    inputs = info.linking_context.linker_inputs.to_list()
    archives = []
    flags = []
    for input in inputs:
        flags += [flag for flag in input.user_link_flags if flag not in flags]
        for library in input.libraries:
            archive = library.static_library or library.pic_static_library
            if archive != None and archive not in archives:
                archives.append(archive)
    library = ctx.actions.declare_file("lib" + ctx.label.name + ".a")
    script = ctx.actions.declare_file(ctx.label.name + ".mri")
    lines = ["create " + library.path] + ["addlib " + a.path for a in archives] + ["save", "end"]
    ctx.actions.write(script, "\n".join(lines) + "\n")
    ctx.actions.run_shell(
        inputs = depset(archives + [script], transitive = [toolchain.all_files]),
        outputs = [library],
        command = "\"$1\" -M < \"$2\"",
        arguments = [toolchain.ar_executable, script.path],
        mnemonic = "StaticLibrary",
    )
    defines = ["-D" + define for define in info.compilation_context.defines.to_list()]
    text = ctx.actions.declare_file(ctx.label.name + ".flags")
    ctx.actions.write(text, " ".join(defines) + "\n" + " ".join(flags) + "\n")
    return [DefaultInfo(files = depset([library, text]))]

# Outputs libNAME.a and NAME.flags: a line of flags for the compiler, a line for the linker.
static_library = rule(
    implementation = _impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
