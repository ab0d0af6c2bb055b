"""Finds a CUDA toolkit, or stands in for one.

Either way `@local_cuda` has the same targets; `HAVE_CUDA` is defined as 1 or 0
for everything that depends on `@local_cuda//:cuda`. `--config=nocuda` builds as
on a machine without a toolkit.
"""

_PLACES = [
    "/usr/local/cuda",
    "/usr/lib/cuda",
    "/opt/cuda",
]

_LIBRARIES = ["cudart_static", "cublas", "cublasLt", "cudnn", "nvrtc", "nccl"]

def _toolkit(ctx):
    """Returns the path of a toolkit with headers and nvcc, or None."""
    if ctx.os.environ.get("LEMMA_CUDA") == "no":
        return None
    for place in _PLACES:
        root = ctx.path(place)
        if root.get_child("include").get_child("cuda_runtime.h").exists and \
           root.get_child("bin").get_child("nvcc").exists:
            return root
    return None

def _found(ctx, root):
    ctx.symlink(root.get_child("include"), "include")
    ctx.symlink(root.get_child("bin").get_child("nvcc"), "nvcc")
    libs = root.get_child("lib64")
    build = """
package(default_visibility = ["//visibility:public"])

exports_files(["nvcc"])

cc_library(
    name = "cuda",
    hdrs = glob(["include/**"]),
    defines = ["HAVE_CUDA=1"],
    includes = ["include"],
)
"""
    here = []
    for library in _LIBRARIES:
        suffix = ".a" if library.endswith("_static") else ".so"
        file = libs.get_child("lib" + library + suffix)
        has = file.exists
        if has:
            here.append(library)
        options = []
        if has:
            options = ["-L{}".format(libs), "-l" + library]
            if suffix == ".so":
                options.append("-Wl,-rpath,{}".format(libs))
            else:
                options += ["-ldl", "-lrt", "-lpthread"]
        build += """
cc_library(
    name = "{name}",
    defines = ["HAVE_{upper}={has}"],
    linkopts = {options},
    deps = [":cuda"],
)
""".format(name = library, upper = library.upper(), has = 1 if has else 0, options = options)
    ctx.file("BUILD.bazel", build)
    ctx.file("defs.bzl", 'HAVE_CUDA = True\nCUDA_HOME = "{}"\nCUDA_LIBRARIES = {}\n'.format(root, here))

def _missing(ctx):
    build = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "cuda",
    defines = ["HAVE_CUDA=0"],
)
"""
    for library in _LIBRARIES:
        build += """
cc_library(
    name = "{name}",
    defines = ["HAVE_{upper}=0"],
    deps = [":cuda"],
)
""".format(name = library, upper = library.upper())
    ctx.file("BUILD.bazel", build)
    ctx.file("defs.bzl", 'HAVE_CUDA = False\nCUDA_HOME = ""\nCUDA_LIBRARIES = []\n')

def _impl(ctx):
    root = _toolkit(ctx)
    if root:
        _found(ctx, root)
    else:
        _missing(ctx)

cuda_repository = repository_rule(
    implementation = _impl,
    environ = ["LEMMA_CUDA"],
    local = True,
)
