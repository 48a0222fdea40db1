"""What is known of command line programs, as data: which only look something up, and which check."""

import re

READING = frozenset(
    "[ ag alias at awk base64 basename bat bc break cal cat cd cksum clear cmp column comm command compgen continue "
    "cut date dc declare df diff dig dir dirname do done du echo egrep else env esac eval exa exit export expr eza "
    "false fc fd fgrep fi file find fold for free function fzf getconf getent grep groups head hexdump history host "
    "hostname htop iconv id if ifconfig ip jobs join jq less let ll local locale locate logname ls lsb_release lscpu "
    "lsof man md5sum mdfind mktemp more netstat nl nm nproc nslookup objdump od otool paste pgrep ping popd printenv "
    "printf ps pushd pwd read readlink readonly realpath return rev rg sar sed select seq set sha1sum sha256sum "
    "shasum shift shopt sleep sort source ss stat strings sum sw_vers sysctl tac tail test then top tr traceroute "
    "tree true type ulimit umask uname uniq unset until uptime vmstat wait wc whatis whereis which while who "
    "whoami xargs xxd yes yq zcat zgrep }".split()
)
"""Programs and words of the shell that change nothing but the shell itself."""
LITERALS = ("cat", "echo", "printf")
"""Programs whose redirected output is a text that the command holds."""
WRAPPERS = frozenset(
    "builtin bunx caffeinate env exec nice nohup npx rtk stdbuf sudo time timeout uvx xvfb-run".split()
)
"""Programs that run another one, which follows them."""
RUN_WRAPPERS = {
    "bundle": "exec",
    "direnv": "exec",
    "mise": "exec",
    "pipenv": "run",
    "pnpm": "exec",
    "poetry": "run",
    "uv": "run",
}
"""Programs that run another one behind this word; `mise run` and `pnpm run` name a task of their own instead."""
VALUED = frozenset(
    "--directory --env-file --extra --group --package --project --python --signal --with -C -k -n -p -s -u".split()
)
"""Their flags whose value follows as a word of its own."""
LOOKS = frozenset(
    "api-resources audit blame branches capture capture-pane cat cat-file check-ignore checks cluster-info count "
    "count-objects current-context describe diff diff-tree doc doctor env events explain fetch find for-each-ref "
    "freeze get grep help history images info inspect list log logs ls ls-files ls-remote ls-tree merge-base metadata "
    "name-rev outdated outputs plan ps reflog rev-list rev-parse search shortlog show show-ref slots stat state stats "
    "status symbolic-ref top tree var version view viewer wait watch whatchanged whoami why".split()
)
"""Subcommands that look something up, of git, gh, docker, kubectl, package managers and the like."""
GIT_READS = {
    "bisect": ("log", "visualize"),
    "notes": ("list", "show"),
    "remote": ("", "-v", "--verbose", "get-url", "show"),
    "stash": ("list", "show"),
    "submodule": ("", "status", "summary"),
    "worktree": ("list",),
}
"""Commands of git that look something up with these first arguments only."""
BRANCH_CHANGES = frozenset(
    "--copy --delete --force --move --set-upstream-to --unset-upstream -C -D -M -c -d -f -m -u".split()
)
BRANCH_LISTS = frozenset(
    "--all --contains --format --list --merged --no-merged --points-at --sort -a -l -n -r -v -vv".split()
)
"""Flags of `git branch` and `git tag` that change one, and that list some."""
CHECKERS = frozenset(
    "actionlint ansible-lint bandit biome black checkov clippy cppcheck ctest cypress detekt dialyzer eslint flake8 "
    "golangci-lint govulncheck hadolint htmlhint isort jasmine jest karma ktlint lint-imports markdownlint mocha mypy "
    "nose2 nosetests nox oxlint phpcs phpstan phpunit playwright pre-commit prettier psalm py.test pycodestyle pylint "
    "pyright pytest rspec rubocop ruff shellcheck shfmt sqlfluff standard staticcheck stylelint swiftlint tap tflint "
    "tox tsc ty vitest vue-tsc wtr xcodebuild yamllint".split()
)
"""Programs that only check: tests, linters, type checkers."""
RUNNERS = frozenset(
    "ant bash bazel bun bundle cargo cmake composer deno dotnet flutter go gradle gradlew grunt gulp hatch invoke "
    "just lerna make meson mise mix moon mvn mvnw ninja node npm nx pants pdm php pip pnpm poe poetry python python3 "
    "rails rake ruby rush rye sbt scons sh swift task terraform tofu tuist turbo uv wasm-pack yarn zig zsh".split()
)
"""Programs that run a task by its name; it is a check if the name says so."""
INSTALLS = frozenset("add ci i init install link new publish remove uninstall update upgrade".split())
"""Commands of runners that check nothing, even if a word behind them does."""
ACTING = frozenset(
    "ansible apt apt-get aws az brew chgrp chmod chown code cp crontab curl dnf fly gcloud gh git glab helm heroku "
    "hugo kill killall kubectl launchctl ln mkdir mv netlify open osascript patch pkill pm2 podman rails reboot rm "
    "rmdir rsync scp service ssh supervisorctl systemctl tar tmux touch trash truncate unzip vercel wget wrangler yum "
    "zip".split()
)
"""Programs that change something in most of their uses; those of the other tables do as well."""
BUILDERS = frozenset(("buildah", "docker", "nix", "podman"))
"""Programs that build with one of their commands."""
CHECKS = re.compile(
    r"(?:^|[:/_.-])(?:tests?|check(?:s|style)?|lint\w*|vet|clippy|fmt|format|typecheck|type-check|types|tsc|build|"
    r"compile|verify|spec|e2e|unit|unittest|pytest|integration|validate|assemble\w*|package|bench|coverage|doctest|"
    r"testsuite|test[A-Z]\w*|run[_-]?tests?|test_\w+|\w+_test)(?:$|[:/_.-])"
)
"""A name of a task, or of a script, that checks or builds."""
