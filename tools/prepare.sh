# Sourced by run.sh and test.sh, POSIX sh: installs Debian packages that are missing, then builds.

build_packages="g++ cmake ninja-build ccache pkg-config libfmt-dev libexpected-dev libboost-dev \
libyaml-cpp-dev nlohmann-json3-dev libsqlite3-dev zlib1g-dev libexpat1-dev libcli11-dev libspdlog-dev libsimgrid-dev"
test_packages="libgtest-dev librapidcheck-dev libbenchmark-dev"
cluster_packages="slurm-wlm munge parallel"

say() { printf '%s\n' "$*" >&2; }

# Ends the script with one sentence.
give_up() {
  say "$script: $*"
  exit 1
}

# Runs a command silently; on failure shows the end of its output and the sentence in $1.
quietly() {
  sentence=$1
  log=$2
  shift 2
  "$@" >"$log" 2>&1 && return 0
  tail -n 25 "$log" >&2
  give_up "$sentence (whole output: $log)"
}

# Prints those of the given packages that dpkg does not have.
missing_packages() {
  for package in "$@"; do
    case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

# Installs what is missing of the given Debian packages. Without dpkg, the compiler and CMake decide.
need_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    for program in cmake ninja c++ pkg-config; do
      command -v "$program" >/dev/null ||
        give_up "this is not Debian and $program is missing; install the equivalents of: $*"
    done
    return 0
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  as_root=""
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null || { ! sudo -n true 2>/dev/null && [ ! -t 0 ]; }; then
      give_up "cannot install packages without root or sudo; as root, run: apt-get install $missing"
    fi
    as_root=sudo
  fi
  say "installing: $missing"
  mkdir -p "$build"
  apt="env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300"
  quietly "apt-get cannot read the package lists" "$build/apt.log" $as_root $apt update
  quietly "apt-get cannot install: $missing" "$build/apt.log" \
    $as_root $apt install -y --no-install-recommends $missing
}

# One compiler per core, but not more than memory allows (the largest source takes about 1 GB).
jobs_for_this_machine() {
  cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
  available_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo 2>/dev/null)
  fits=$((${available_kb:-2000000} / 1200000))
  [ "$fits" -ge 1 ] || fits=1
  [ "$cores" -le "$fits" ] && echo "$cores" || echo "$fits"
}

# configure CMAKE_ARGUMENT…: prepares $build/release, with ccache when there is one.
configure() {
  mkdir -p "$build"
  if command -v ccache >/dev/null; then
    CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
    export CMAKE_CXX_COMPILER_LAUNCHER
    if [ -z "${CCACHE_DIR:-}" ] && [ ! -w "${HOME:-/nonexistent}" ]; then
      CCACHE_DIR=$root/.cache/ccache
      export CCACHE_DIR
    fi
  fi
  quietly "configuring failed" "$build/configure.log" cmake --preset release "$@"
}

# build_targets [TARGET…]: everything, or the named targets.
build_targets() {
  targets=""
  [ $# -eq 0 ] || targets="--target $*"
  say "building ..."
  quietly "building failed" "$build/build.log" \
    cmake --build --preset release --parallel "$(jobs_for_this_machine)" $targets
}

script=$(basename "$0")
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=$root/build
