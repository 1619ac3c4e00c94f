# make help lists the targets.

GO ?= go
GOLANGCI_LINT := $(shell $(GO) env GOPATH 2>/dev/null)/bin/golangci-lint
GOLANGCI_LINT_VERSION := v2.15.0

# The compiler flags of all targets here. With equal flags, targets share the build cache. Debugging information would
# take an eighth of the time of a first compilation. Stack traces and profiles do not need it, and debuggers compile
# with their own flags. Inlining in the generated executor would add 5 s and 1.6 MB, and saves no measurable time.
# Without cgo, the program is static, as in the container image, and takes 1 to 3 MB less memory when idle. Only the
# race detector needs cgo.
export CGO_ENABLED ?= 0
race e2e: export CGO_ENABLED := 1
COMPILING := -gcflags=all=-dwarf=false '-gcflags=github.com/agentgraph/agentgraph/graph=-dwarf=false -l'
GIVEN := $(shell $(GO) env GOFLAGS 2>/dev/null)
export GOFLAGS := $(strip $(GIVEN) $(if $(findstring $(COMPILING),$(GIVEN)),,$(COMPILING)))

.PHONY: help flags chart check-schema docs docs-deps console check-console e2e-console screenshots film console-deps hooks run test test-fast test-faults test-scale test-upgrade fuzz race e2e e2e-deps bench bench-compare bench-turns bench-growth bench-deps bench-hostile microbench microbench-compare eval-knowledge bench-knowledge generate check-generated worked-example lint build postgres

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

flags: ## print the go flags of these targets; to compile with them: export CGO_ENABLED=0 GOFLAGS="$(make -s flags)"
	@echo "$$GOFLAGS"

hooks: ## make git check the subjects of commits
	git config core.hooksPath .githooks

run: postgres ## the gateway with everything it needs; ARGS are flags of agentgraph dev
	@GO="$(GO)" scripts/build.sh
	@exec bin/agentgraph dev $(ARGS)

# The binary is stripped: stack traces have names, but debuggers find no symbols. VERSION=v1.2.3 sets the version that
# it reports.
build: ## a release build, bin/agentgraph
	$(GO) build -trimpath -ldflags "-s -w -X main.release=$(VERSION)" -o bin/agentgraph ./cmd/agentgraph

# Tests and the linker create many short-lived files. They are in memory if there is room. On a disk, all tests take a
# sixth longer. Tests often wait, so the number of packages tested at once is one more than the number of processors.
ROOM_IN_KB := 6000000
IN_MEMORY := $(shell [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $$4 }')" -gt $(ROOM_IN_KB) ] 2>/dev/null && echo /dev/shm)
test test-fast race: export TMPDIR := $(or $(TMPDIR),$(IN_MEMORY),/tmp)
AT_ONCE := -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

test: postgres e2e-deps ## all tests
	$(GO) test $(AT_ONCE) -timeout 20m ./...

# Slow suites are left out: those of whole programs, the database, the queue and documents.
test-fast: postgres e2e-deps ## the tests that take a minute, for the inner loop
	$(GO) test $$($(GO) list ./... | grep -vE '/(cmd|app|db|engine/knowledge)(/|$$)') ./db/group ./db/seal ./db/notify

FUZZTIME ?= 20s

fuzz: postgres ## every fuzz target, for FUZZTIME each
	GO="$(GO)" scripts/fuzz.sh $(FUZZTIME)

# FAULTS=short takes two minutes. As root, it also fills a disk in memory.
test-faults: postgres ## break the program's dependencies, and count lost and duplicated work
	$(GO) build -o bin/agentgraph ./cmd/agentgraph
	$(GO) build -o bin/faults ./lab/faults
	@exec bin/faults $(if $(filter short,$(FAULTS)),-short) $(ARGS)

# These tests take longer than two minutes.
test-scale: postgres ## the database tests behind a pooler, and queries on a tenth of the database of bench-growth
	CI=1 DBTEST_POOLER=1 $(GO) test -count=1 ./db
	@$(MAKE) --no-print-directory bench-growth ARGS="-scale 0.1 -times 50 $(ARGS)"

# This tree must contain all migrations of the revision OLD.
test-upgrade: postgres ## under load, upgrade replicas from the revision OLD to this tree, downgrade them, and upgrade again
	@test -n "$(OLD)" || { echo 'set the revision to upgrade from: make test-upgrade OLD=v1.2.0'; exit 2; }
	$(GO) build -o bin/agentgraph ./cmd/agentgraph
	$(GO) build -o bin/faults ./lab/faults
	@rm -rf bin/old && mkdir -p bin/old && git archive $(OLD) | tar -x -C bin/old && (cd bin/old && $(GO) build -o ../agentgraph-old ./cmd/agentgraph); rm -rf bin/old
	@exec bin/faults -old bin/agentgraph-old $(ARGS)

race: postgres e2e-deps ## all tests, with the race detector
	$(GO) test -race -timeout 20m $(or $(PACKAGES),./...)

e2e: postgres e2e-deps ## the protocols, with common clients
	$(GO) build -race -o bin/agentgraph-race ./cmd/agentgraph
	cd lab/e2e && npm test --silent

# See docs/internals/performance.md. ARGS="-rounds 1 -servers raw" is a short run.
bench: postgres bench-deps ## compare agentgraph with other servers
	@cd lab/bench && $(GO) build -o ../../bin/bench . && exec ../../bin/bench $(ARGS)

# make bench-compare OLD=HEAD~5
bench-compare: postgres ## compare this tree with the earlier revision OLD
	@test -n "$(OLD)" || { echo "set the revision to compare with: make bench-compare OLD=HEAD~1"; exit 2; }
	@cd lab/bench && $(GO) build -o ../../bin/bench . && exec ../../bin/bench -old "$(OLD)" $(ARGS)

# make bench-turns OLD=HEAD~5. Without OLD, only this tree is measured.
bench-turns: postgres ## turns of simulated chats, optionally compared with the earlier revision OLD
	@cd lab/bench && $(GO) build -o ../../bin/bench . && exec ../../bin/bench -turns $(if $(OLD),-old "$(OLD)") $(ARGS)

# HOSTILE is a regular expression for the names of the shapes to measure; see docs/internals/performance.md.
bench-hostile: postgres ## the cost of hostile requests, and how long another client waits beside fifty of them
	$(GO) test -run '^$$' -bench BenchmarkHostile -benchtime 1x ./app

# A full run takes about ten minutes and ten GB. ARGS="-scale 0.1" is a shorter run, and -dir sets the directory.
bench-growth: postgres ## measure queries on a small, a medium and a large database, beside writers
	$(GO) build -o bin/growth ./lab/growth
	@exec bin/growth $(ARGS)

microbench: postgres ## benchmarks of single packages
	$(GO) test -run '^$$' -bench . -benchmem ./...

# make microbench-compare OLD=HEAD~1 PACKAGES=./query BENCH=Stored COUNT=10
microbench-compare: postgres ## compare the benchmarks of this tree with those of the earlier revision OLD
	@test -n "$(OLD)" || { echo "set the revision to compare with: make microbench-compare OLD=HEAD~1"; exit 2; }
	@GO="$(GO)" BENCH="$(BENCH)" COUNT="$(COUNT)" scripts/microbench-compare.sh "$(OLD)" $(PACKAGES)

# Compares retrieval with plain full-text search of Postgres, on questions with known answers. SETS="/path/*.jsonl"
# measures other sets; docs/internals/decisions/knowledge.md has their format.
eval-knowledge: postgres ## how well retrieval answers known questions
	EVAL_KNOWLEDGE=1 EVAL_KNOWLEDGE_SETS="$(SETS)" $(GO) test -count=1 -v -timeout 2h -run '^TestRetrievalQuality$(if $(SETS),OfSets$$)' ./cmd/agentgraph/demo

# Measures retrieval in datasets of CHUNKS chunks, such as CHUNKS=100000,1000000. A million chunks take 4 GB of memory
# and a quarter of an hour.
bench-knowledge: postgres ## how fast retrieval answers in large datasets
	BENCH_KNOWLEDGE="$(or $(CHUNKS),100000)" $(GO) test -count=1 -v -timeout 2h -run '^TestSpeed$$' ./engine/knowledge

# The model comes first, because other generators import its generated code.
generate: ## generate code, the descriptions of REST, and docs/reference
	rm -f graph/*.generated.go
	$(GO) generate ./model ./...

GENERATED_PAGES := docs/reference/schema $(patsubst %,docs/reference/%.md,graphql rest cli settings metrics webhook-events exit-codes)

check-generated: generate ## check that generated code is up to date
	@git diff --exit-code -- graph model resolvers gateway/rest/openapi.json $(GENERATED_PAGES) deploy/systemd || { echo "generated code is not up to date: run make generate and commit"; exit 1; }

check-schema: e2e-deps ## check that each breaking change of the schema since the last release has a note
	@node lab/e2e/breaking.mjs

console: console-deps ## the web console, from console/ into gateway/console/dist, and the viewer of /docs
	cd console && npm run --silent build && node scripts/pack.mjs

check-console: console-deps ## check the console's types, unit tests and sizes, and that its build is up to date
	cd console && npm run --silent check && npm run --silent unit && npm run --silent build && node scripts/pack.mjs --check

# This needs Debian's Chromium. Without it the tests are skipped, or fail if CI is set.
e2e-console: postgres console-deps build ## the console in a real browser
	cd console && npm run --silent e2e

screenshots: postgres console-deps build ## the screenshots of the documents or, with OUT, every page in both themes and two widths
	cd console && OUT="$(abspath $(OUT))" node --import tsx e2e/screenshots.ts

film: postgres console-deps build ## the README's animation; this needs ffmpeg
	cd console && node --import tsx e2e/film.ts

docs: docs-deps ## build the site of docs/ into docs/.vitepress/dist; dead links and anchors are errors
	cd docs && npm run --silent build

worked-example: postgres ## carry out docs/internals/adding-a-type.md on a copy of the tree
	scripts/worked-example.sh

HELM := $(shell $(GO) env GOPATH 2>/dev/null)/bin/helm

chart: $(HELM) ## lint the Helm chart, and check what it renders
	$(HELM) lint --strict --quiet deploy/helm
	$(GO) test -count=1 -run '^TestChart' .

$(HELM):
	$(GO) install helm.sh/helm/v3/cmd/helm@v3.19.0

lint: $(GOLANGCI_LINT) ## golangci-lint
	$(GOLANGCI_LINT) run

$(GOLANGCI_LINT):
	$(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

e2e-deps: lab/e2e/node_modules/.package-lock.json

lab/e2e/node_modules/.package-lock.json: lab/e2e/package-lock.json
	cd lab/e2e && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

console-deps: console/node_modules/.package-lock.json

console/node_modules/.package-lock.json: console/package-lock.json
	cd console && npm ci --loglevel=error --ignore-scripts --no-audit --no-fund
	@touch $@

docs-deps: docs/node_modules/.package-lock.json

docs/node_modules/.package-lock.json: docs/package-lock.json
	cd docs && npm ci --loglevel=error --ignore-scripts --no-audit --no-fund
	@touch $@

bench-deps: lab/bench/peers/node_modules/.package-lock.json

lab/bench/peers/node_modules/.package-lock.json: lab/bench/peers/package-lock.json
	cd lab/bench/peers && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

# This needs PostgreSQL version 14 or later.
postgres: ## install Postgres's binaries if they are missing
	@sh scripts/postgres.sh
