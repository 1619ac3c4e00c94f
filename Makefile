# make help lists the targets.

GO ?= go
GOLANGCI_LINT := $(shell $(GO) env GOPATH 2>/dev/null)/bin/golangci-lint
GOLANGCI_LINT_VERSION := v2.15.0

# How all of these targets compile, so that they share what is compiled. Debugging information takes an eighth of the time of a
# first compilation; stack traces and profiles do without it, debuggers compile for themselves. Inlining in the generated executor
# would take 5 s and 1.6 MB of the program, and saves no time that can be measured. Without C the program is static, as in its
# image, and an idle one takes 1 to 3 MB less; the race detector alone needs it.
export CGO_ENABLED ?= 0
race e2e: export CGO_ENABLED := 1
COMPILING := -gcflags=all=-dwarf=false '-gcflags=github.com/agentgraph/agentgraph/graph=-dwarf=false -l'
GIVEN := $(shell $(GO) env GOFLAGS 2>/dev/null)
export GOFLAGS := $(strip $(GIVEN) $(if $(findstring $(COMPILING),$(GIVEN)),,$(COMPILING)))

.PHONY: help flags chart check-schema docs docs-deps console check-console e2e-console screenshots film console-deps hooks run test test-fast test-faults test-scale test-upgrade fuzz race e2e e2e-deps bench bench-compare bench-turns bench-growth bench-deps bench-hostile microbench microbench-compare eval-knowledge bench-knowledge generate check-generated worked-example lint build tidy postgres

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

flags: ## the flags of go that these targets use: export CGO_ENABLED=0 GOFLAGS="$$(make -s flags)" compiles as they do
	@echo "$$GOFLAGS"

hooks: ## have git check the subjects of commits
	git config core.hooksPath .githooks

run: postgres ## the gateway with everything it needs; ARGS are flags of agentgraph dev
	@GO="$(GO)" scripts/build.sh
	@exec bin/agentgraph dev $(ARGS)

# The binary is stripped: stack traces keep names, debuggers lose them. VERSION=v1.2.3 sets the version that it reports.
build: ## a release build, bin/agentgraph
	$(GO) build -trimpath -ldflags "-s -w -X main.release=$(VERSION)" -o bin/agentgraph ./cmd/agentgraph

test: postgres e2e-deps ## all tests
	$(GO) test ./...

# This leaves out what takes long: whole programs, and the suites of the database, the queue and documents.
test-fast: postgres ## the tests that take seconds, for the inner loop
	$(GO) test $$($(GO) list ./... | grep -vE '/(cmd|app|db|engine/knowledge)(/|$$)') ./db/group ./db/seal ./db/notify

FUZZTIME ?= 20s

fuzz: postgres ## every fuzz target, for FUZZTIME each
	GO="$(GO)" scripts/fuzz.sh $(FUZZTIME)

# FAULTS=short takes two minutes. As root it fills a disk too, one in memory.
test-faults: postgres ## break what the program stands on, and count what is lost or doubled
	$(GO) build -o bin/agentgraph ./cmd/agentgraph
	$(GO) build -o bin/faults ./lab/faults
	@exec bin/faults $(if $(filter short,$(FAULTS)),-short) $(ARGS)

# What takes longer than two minutes: the tests of the database behind a pooler, and a database of years, at a tenth of its size.
test-scale: postgres ## the database's tests behind a pooler, and queries on a tenth of a database of years
	CI=1 DBTEST_POOLER=1 $(GO) test -count=1 ./db
	@$(MAKE) --no-print-directory bench-growth ARGS="-scale 0.1 $(ARGS)"

# OLD is a revision whose migrations are part of this tree's.
test-upgrade: postgres ## replace replicas of the revision OLD by this tree's under load, back, and up again
	@test -n "$(OLD)" || { echo 'say from what: make test-upgrade OLD=v1.2.0'; exit 2; }
	$(GO) build -o bin/agentgraph ./cmd/agentgraph
	$(GO) build -o bin/faults ./lab/faults
	@rm -rf bin/old && mkdir -p bin/old && git archive $(OLD) | tar -x -C bin/old && (cd bin/old && $(GO) build -o ../agentgraph-old ./cmd/agentgraph); rm -rf bin/old
	@exec bin/faults -old bin/agentgraph-old $(ARGS)

race: postgres e2e-deps ## all tests, with the race detector
	$(GO) test -race -timeout 20m $(or $(PACKAGES),./...)

e2e: postgres e2e-deps ## the protocols, by the clients that people use
	$(GO) build -race -o bin/agentgraph-race ./cmd/agentgraph
	cd lab/e2e && npm test --silent

# See docs/internals/performance.md. ARGS="-rounds 1 -servers raw" does less.
bench: postgres bench-deps ## agentgraph beside other servers
	@cd lab/bench && $(GO) build -o ../../bin/bench . && exec ../../bin/bench $(ARGS)

# make bench-compare OLD=HEAD~5
bench-compare: postgres ## this tree beside an earlier revision, OLD
	@test -n "$(OLD)" || { echo "say which revision to compare with: make bench-compare OLD=HEAD~1"; exit 2; }
	@cd lab/bench && $(GO) build -o ../../bin/bench . && exec ../../bin/bench -old "$(OLD)" $(ARGS)

# make bench-turns OLD=HEAD~5, or without OLD this tree alone.
bench-turns: postgres ## turns of simulated chats, of this tree or beside an earlier revision, OLD
	@cd lab/bench && $(GO) build -o ../../bin/bench . && exec ../../bin/bench -turns $(if $(OLD),-old "$(OLD)") $(ARGS)

# HOSTILE is a regular expression for the names of the shapes to measure; see docs/internals/performance.md.
bench-hostile: postgres ## what hostile requests cost, and what a neighbor of fifty of them waits
	$(GO) test -run '^$$' -bench BenchmarkHostile -benchtime 1x ./app

# The whole takes some ten minutes and ten GB. ARGS="-scale 0.1" does less; -dir says where.
bench-growth: postgres ## queries on a database of years, beside a small one
	$(GO) build -o bin/growth ./lab/growth
	@exec bin/growth $(ARGS)

microbench: postgres ## benchmarks of single packages
	$(GO) test -run '^$$' -bench . -benchmem ./...

# make microbench-compare OLD=HEAD~1 PACKAGES=./query BENCH=Stored COUNT=10
microbench-compare: postgres ## benchmarks of this tree beside those of an earlier revision, OLD
	@test -n "$(OLD)" || { echo "say which revision to compare with: make microbench-compare OLD=HEAD~1"; exit 2; }
	@GO="$(GO)" BENCH="$(BENCH)" COUNT="$(COUNT)" scripts/microbench-compare.sh "$(OLD)" $(PACKAGES)

# Compares retrieval with plain full-text search of Postgres, on questions with known answers. SETS="/path/*.jsonl"
# measures other sets; docs/internals/decisions/knowledge.md has their format.
eval-knowledge: postgres ## how well retrieval answers known questions
	EVAL_KNOWLEDGE=1 EVAL_KNOWLEDGE_SETS="$(SETS)" $(GO) test -count=1 -v -timeout 2h -run '^TestRetrievalQuality$(if $(SETS),OfSets$$)' ./cmd/agentgraph/demo

# Asks questions of datasets of CHUNKS chunks, such as CHUNKS=100000,1000000; a million takes 4 GB of memory and a quarter of an hour.
bench-knowledge: postgres ## how fast retrieval answers in large datasets
	BENCH_KNOWLEDGE="$(or $(CHUNKS),100000)" $(GO) test -count=1 -v -timeout 2h -run '^TestSpeed$$' ./engine/knowledge

# The model comes first: other generators import the code that it makes.
generate: ## generate code, the descriptions of REST, and docs/reference
	rm -rf graph
	$(GO) generate ./model ./...

GENERATED_PAGES := docs/reference/schema $(patsubst %,docs/reference/%.md,graphql rest cli settings metrics webhook-events exit-codes)

check-generated: generate ## check that generated code is up to date
	@git diff --exit-code -- graph model resolvers gateway/rest/openapi.json $(GENERATED_PAGES) deploy/systemd || { echo "generated code is not up to date: run make generate and commit"; exit 1; }

check-schema: e2e-deps ## check that no breaking change of the schema since the last release is without a note
	@node lab/e2e/breaking.mjs

console: console-deps ## the web console, from console/ into gateway/console/dist, and the viewer of /docs
	cd console && npm run --silent build && node scripts/pack.mjs

check-console: console-deps ## check the console's types, sizes, and that its build is that of its source
	cd console && npm run --silent check && npm run --silent unit && npm run --silent build && node scripts/pack.mjs --check

# This needs Debian's Chromium. Without it the tests are skipped, or fail if CI is set.
e2e-console: postgres console-deps build ## the console in a real browser
	cd console && npm run --silent e2e

screenshots: postgres console-deps build ## the pictures of the documents or, with OUT, every page in both themes and two widths
	cd console && OUT="$(abspath $(OUT))" node --import tsx e2e/screenshots.ts

film: postgres console-deps build ## the README's moving picture; this needs ffmpeg
	cd console && node --import tsx e2e/film.ts

docs: docs-deps ## the site over docs/, into docs/.vitepress/dist; fails for a dead link or anchor
	cd docs && npm run --silent build

worked-example: postgres ## docs/internals/adding-a-type.md, carried out on a copy of the tree
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
	cd lab/e2e && npm ci --silent --no-audit --no-fund
	@touch $@

console-deps: console/node_modules/.package-lock.json

console/node_modules/.package-lock.json: console/package-lock.json
	cd console && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

docs-deps: docs/node_modules/.package-lock.json

docs/node_modules/.package-lock.json: docs/package-lock.json
	cd docs && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

bench-deps: lab/bench/peers/node_modules/.package-lock.json

lab/bench/peers/node_modules/.package-lock.json: lab/bench/peers/package-lock.json
	cd lab/bench/peers && npm ci --silent --no-audit --no-fund
	@touch $@

# This needs PostgreSQL version 14 or later.
postgres: ## Postgres's binaries, where there are none yet
	@sh scripts/postgres.sh
