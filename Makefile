# Skep: `make run` starts it, `make test` proves it, `make help` lists the rest.

.DEFAULT_GOAL := help
.PHONY: help run cluster build dist image deb site ui ui-check ui-shots ui-pictures ui-bench test fmt lint deny unit upgrade clients exporters deploy images kubernetes chaos bench setup clean

# A wrong protoc in the environment breaks the build; nothing here needs one.
unexport PROTOC
# Where rustup puts cargo when .ci/setup has just installed it.
export PATH := $(PATH):$(HOME)/.cargo/bin

TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
SKEP := $(TARGET)/release/skep

# The web interface is built with the server unless UI=0.
UI ?= 1

# More flags for the server, e.g. make run ARGS="--partitions 2"
ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build the release binary and start a server with its defaults (ARGS="…" adds flags)
	@echo
	@echo "Starting Skep on 127.0.0.1: REST on 8080, gRPC on 26500, management on 9600. Ctrl+C stops it."
	@[ "$(UI)" = 0 ] || echo "Open http://localhost:8080 in a browser. Or, in another terminal:"
	@echo
	@echo "  $(SKEP) deploy examples/first-process.bpmn"
	@echo "  $(SKEP) start order --variables '{\"orderId\": \"o-1\", \"amount\": 99}'"
	@echo "  $(SKEP) status"
	@echo
	@echo "and a worker for its job, in the language of your choice: see examples/README.md"
	@echo
	@exec $(SKEP) serve $(ARGS)

cluster: build ## three nodes of one cluster on this machine, and how to use and break them
	@.ci/cluster $(SKEP)

build: $(if $(filter 0,$(UI)),,ui) ## build the release binary, target/release/skep (UI=0: without the web interface)
	@.ci/setup rust
	cargo build --release --package skep

dist: $(if $(filter 0,$(UI)),,ui) ## build the binary to ship, target/dist/skep: link-time optimized and static, which takes twice as long
	@.ci/setup rust
	@.ci/dist

VERSION := $(shell sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)

image: dist ## the container image with that binary, target/dist/skep-image.tar
	@deploy/image/build $(TARGET)/dist/skep $(TARGET)/dist/skep-image.tar --version $(VERSION)

deb: dist ## the Debian package with that binary, target/dist/skep.deb
	@deploy/debian/build $(TARGET)/dist/skep $(TARGET)/dist/skep.deb $(VERSION)

site: ## the documentation as a site, target/site
	@.ci/setup deploy
	@.ci/site $(TARGET)/site

ui: ## build the web interface, which the next build of the server embeds
	@.ci/setup node || { echo "Or leave the web interface out with UI=0, as in: make run UI=0"; exit 1; }
	@.ci/ui build

ui-check: ## the web interface: types, lint, units, sizes, licences, and its journeys in a browser
	@.ci/setup rust ui
	@.ci/test ui

ui-pictures: ## the pictures of the documentation, taken again: docs/images
	@.ci/setup rust ui
	@.ci/ui pictures

ui-bench: ## how fast the pages are, against SKEP_BIN or a build for tests (BENCH_INSTANCES, BENCH_TOKENS, BENCH_MINUTES)
	@.ci/setup rust ui
	@.ci/ui bench

ui-shots: ## screenshots of every screen in its states, to look at: ui/shots
	@.ci/setup rust ui
	@.ci/ui shots

test: ## every check: fmt, lint, deny, ui, unit, clients, exporters, deploy
	@.ci/setup make rust deny
	@.ci/test --setup fmt lint deny ui unit clients exporters deploy

fmt: ## formatting (`cargo fmt` corrects it)
	@.ci/setup rust
	@.ci/test fmt

lint: ## clippy on all targets, warnings are errors
	@.ci/setup rust
	@.ci/test lint

deny: ## licences, sources, banned crates, and advisories where the database can be reached
	@.ci/setup rust deny
	@.ci/test deny

unit: ## all Rust tests
	@.ci/setup rust faults stores
	@.ci/test unit

clients: ## the official Camunda 8 clients against a real server
	@.ci/setup rust clients
	@.ci/test clients

upgrade: ## a cluster of an earlier version is upgraded under load; builds that version first (a quarter of an hour, once)
	@.ci/setup rust
	@.ci/earlier
	@CI=true cargo test --workspace --test cluster upgrade

exporters: ## records exported to a real OpenSearch and Elasticsearch, with faults in between
	@.ci/setup rust stores
	@.ci/test exporters

deploy: ## chart, unit, ECS template, dashboards and alerts on a loaded cluster, site
	@.ci/setup rust deploy
	@.ci/test deploy

images: image ## image, compose files and Debian package, started and used in containers (needs root)
	@.ci/setup images
	@tests/deploy/image $(TARGET)/dist/skep-image.tar
	@tests/deploy/compose $(TARGET)/dist/skep-image.tar
	@tests/deploy/deb $(TARGET)/dist/skep

kubernetes: image ## the chart on a real Kubernetes of one node, which is built first (half an hour, once; needs root)
	@.ci/setup deploy
	@tests/deploy/kubernetes-setup
	@tests/deploy/kubernetes $(TARGET)/dist/skep-image.tar

chaos: build ## the quick form of every chaos experiment, reports in target/chaos (about an hour on a machine that does nothing else)
	@.ci/chaos $(SKEP) $(TARGET)/chaos

bench: ## the micro-benchmarks (docs/performance.md has the commands of the others)
	@.ci/setup rust
	cargo bench --workspace

setup: ## install what is missing on this machine
	@.ci/setup

clean: ## remove everything built or fetched
	cargo clean
	rm -rf .cache ui/node_modules ui/.build ui/dist/assets ui/dist/*.gz ui/dist/VERSION
