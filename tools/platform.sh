# Shared by the scripts of this folder; sourced, never run. Finds what the platform has and says how to get the rest.

say() { printf '%s\n' "$@" >&2; }

die() {
    say ""
    say "$@"
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# Root on a Debian system: the one case in which packages are installed without asking.
may_install_packages() { [ "$(id -u)" -eq 0 ] && have apt-get; }

apt_updated=false
apt_install() {
    if ! $apt_updated; then
        DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || say "apt-get update failed; trying with the lists at hand"
        apt_updated=true
    fi
    say "installing $* by apt-get ..."
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# install_hint APT DNF APK BREW: the command that installs a thing here.
install_hint() {
    if have apt-get; then
        printf 'sudo apt-get install %s' "$1"
    elif have dnf; then
        printf 'sudo dnf install %s' "$2"
    elif have apk; then
        printf 'apk add %s' "$3"
    elif have brew; then
        printf 'brew install %s' "$4"
    else
        printf "with your system's package manager: %s" "$1"
    fi
}

java_command() {
    if [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ]; then
        printf '%s' "$JAVA_HOME/bin/java"
    else
        printf 'java'
    fi
}

# The feature number (8, 17, 21, ...) of the Java at hand; nothing where there is none.
java_version() {
    # Without a Java, and with the one of macOS that only says where to get it, the command fails.
    { "$(java_command)" -version 2>&1 || true; } | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1
}

java_is_good() {
    local version
    version=$(java_version)
    [ -n "$version" ] && [ "$version" -ge 17 ] && "$(java_command)" --list-modules 2>/dev/null | grep -q '^jdk.incubator.vector'
}

need_java() {
    java_is_good && return
    if may_install_packages; then
        apt_install openjdk-17-jre-headless || apt_install openjdk-21-jre-headless || apt_install default-jre-headless || true
        java_is_good && return
    fi
    local found
    found=$(java_version)
    die "Spark 4 needs Java 17 or newer with the module jdk.incubator.vector; found: ${found:-no Java}${found:+ ($(java_command))}." \
        "Install it:  $(install_hint openjdk-17-jre-headless java-21-openjdk-headless openjdk17-jre-headless openjdk@17)" \
        "or set JAVA_HOME to one that is there, and run the command again."
}

need_maven() {
    have mvn && return
    if may_install_packages; then
        apt_install maven && have mvn && return
    fi
    die "Maven is needed to download the servers that the tests start." \
        "Install it:  $(install_hint maven maven maven maven)" \
        "and run the command again."
}

python_hint() { install_hint "python3.11 python3.11-venv" python3.11 python3 python@3.12; }

# Sets UV to a uv that runs and is new enough: the user's own, or one in the cache of this checkout.
need_uv() {
    local home="$CACHE/uv" python options
    for UV in uv "$home/bin/uv"; do
        options=$("$UV" venv --help 2>/dev/null) || continue
        [[ $options == *--clear* ]] && return # from 0.8 on
    done
    UV="$home/bin/uv"
    for python in python3 python3.13 python3.12 python3.11 python; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1 || continue
        say "getting uv into ${home#"$ROOT"/} ..."
        make_tool_venv "$python" "$home" && "$home/bin/python" -m pip install -q 'uv>=0.8' >&2 && return
        die "uv could not be installed into $home (see above)." \
            "Check the network, or install uv yourself, and run the command again."
    done
    die "Python 3.11 or newer is needed, and no Python that could fetch it (3.9 or newer) was found." \
        "Install it:  $(python_hint)"
}

make_tool_venv() {
    rm -rf "$2"
    "$1" -m venv "$2" >/dev/null 2>&1 && return
    # Debian keeps venv in a package of its own.
    may_install_packages && apt_install python3-venv
    rm -rf "$2"
    "$1" -m venv "$2" >/dev/null && return
    die "This Python cannot make virtual environments.  Install the module:  $(install_hint python3-venv python3 python3 python3)"
}

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${PENSTOCK_CACHE:-$ROOT/.cache}
