# Targets explain themselves: `make` lists them.
.DEFAULT_GOAL := help
.PHONY: help build demo test race spider storm lint format fuzz bench million docs pictures clients browser release ci clean

FUZZTIME ?= 30s
VERSION ?= snapshot
PKG ?= ./...
EPISODES ?= 1000000

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/seatrial
	go build -o bin/seatrial ./cmd/seatrial

demo: ## run the demo: bundled questions, reference agents, report
	go run ./cmd/seatrial demo

test: ## run all tests, or those of PKG; SEATRIAL_SHARED=DIR adds those that need the corpora
	go test -timeout 20m $(PKG)

race: ## run the tests of packages that start goroutines under the race detector, without the corpora
	.ci/run race

spider: ## check what is promised about the whole of Spider; needs SEATRIAL_SHARED
	@test -n "$$SEATRIAL_SHARED" || { echo "set SEATRIAL_SHARED to the folder that contains data/spider"; exit 1; }
	go test -timeout 20m -run TestSpider -v ./internal/cli

storm: ## run the attacks at full size: kills, mutated files, full disks, signals, hostile programs
	SEATRIAL_STORM=full go test -timeout 6h ./internal/cli/storm
	go test -run 'Hostile|Stopped|GivenUp|Killed|Cap' ./internal/agent/python ./internal/agent/command

lint: ## run golangci-lint, and install it if it is missing
	.ci/run lint

format: ## run gofmt on everything
	gofmt -w .

fuzz: ## run every fuzz target of the repository for FUZZTIME (30s)
	@for file in $$(grep -rl --include='*_test.go' '^func Fuzz' .); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$file); do \
			echo "== $$target in $$(dirname $$file)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$(dirname $$file) || exit 1; \
		done; \
	done

bench: ## run the benchmarks; SEATRIAL_SHARED=DIR adds those on the corpora
	go test -run '^$$' -bench . -benchtime 1x $(PKG)

million: ## make a run of EPISODES (a million) and time its report; takes half an hour and 5 GB
	d=$$(mktemp -d) && go build -o $$d/seatrial ./cmd/seatrial && cd $$d && export XDG_CACHE_HOME=$$d/cache && \
	./seatrial build --corpus demo --style func --condition obfuscate --fault exec.timeout \
		--fault exec.first-tried --fault out.truncated --fault call.session --fault conflict.stale --fault spec.unit \
		--neighbours 4 --out suite >/dev/null && n=$$(wc -l <suite/instances.jsonl) && \
	./seatrial run suite --agent blind --agent recover --agent fallback --agent retry --lean \
		--trials $$(($(EPISODES) / n / 4 + 1)) --out run >/dev/null && \
	bash -c 'time ./seatrial report run >/dev/null; time ./seatrial report run --full >/dev/null'; status=$$?; rm -rf $$d; exit $$status

docs: ## run the commands of the documentation and write their output into the pages
	go test ./internal/cli -run ConfigSchema -rewrite-config
	go test ./internal/cli/schemas -run Published -rewrite
	go test ./docs -rewrite

pictures: ## draw the pictures of the documentation again; needs Chromium
	ci/pictures.sh

clients: ## try MCP clients on a served suite, and compare with docs/clients.md; needs Python and npm
	ci/clients/run.py

browser: ## try the pages of view in Chromium, with axe; SHOTS=DIR writes screenshots; needs Chromium and npm
	ci/browser.sh $(SHOTS)

release: ## build the release archives into dist, as VERSION (snapshot)
	ci/release.sh $(VERSION)

ci: ## run every check that a clean clone must pass
	.ci/run

clean: ## remove what was built
	rm -rf bin out dist
