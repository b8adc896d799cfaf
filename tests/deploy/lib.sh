# What the tests of this directory share. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
passed=0 failed=0

say() { printf '%s\n' "$*"; }
die() { echo "deploy: $*" >&2; exit 1; }

# check WHAT COMMAND…: one fact; if it does not hold, it is reported with the output of the command.
check() {
  local what=$1 said
  shift
  if said=$("$@" 2>&1); then
    passed=$((passed + 1))
    say "  ok      $what"
  else
    failed=$((failed + 1))
    say "  FAILED  $what"
    printf '%s\n' "$said" | tail -n 20 | sed 's/^/          /'
  fi
}

# until_ok SECONDS COMMAND…: again and again until it succeeds; its last words where it never does.
until_ok() {
  local deadline=$((SECONDS + $1)) said
  shift
  until said=$("$@" 2>&1); do
    if [ "$SECONDS" -ge "$deadline" ]; then
      printf '%s\n' "$said"
      return 1
    fi
    sleep 0.1
  done
  printf '%s\n' "$said"
}

refused() { ! "$@"; }

# prints PATTERN COMMAND…: the command succeeds, and a line of its output matches. In a pipe grep would end at the first match, with -q
# and with its output to /dev/null alike, and podman fails where it can write no more.
prints() {
  local said
  said=$("${@:2}") || { printf '%s\n' "$said"; return 1; }
  grep -qE -e "$1" <<<"$said" || { printf 'no %s in: %s\n' "$1" "$said"; return 1; }
}

summary() { # NAME
  say "$1: $passed passed, $failed failed"
  [ "$failed" = 0 ]
}

# A container engine with a store of its own below $work, which goes with it.
podman_here() {
  command -v podman >/dev/null || die "podman is missing: run .ci/setup images"
  [ "$(id -u)" = 0 ] || die "these tests need root: podman makes networks and limits"
  pods=(podman --log-level fatal --root "$work/store" --runroot "$work/run" --cgroup-manager cgroupfs --runtime runc)
  # Limits that containers may not raise where this machine's own are low.
  limits=(--ulimit nofile=8192:8192 --ulimit nproc=8192:8192)
}

podman_gone() {
  "${pods[@]}" rm -f -t 0 -a >/dev/null 2>&1 || true
  "${pods[@]}" network prune -f >/dev/null 2>&1 || true
  "${pods[@]}" system reset -f >/dev/null 2>&1 || true
}
