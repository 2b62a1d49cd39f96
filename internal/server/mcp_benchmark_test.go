package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seatrial/seatrial/internal/server"
	"github.com/seatrial/seatrial/internal/universe"
)

// BenchmarkMCPCalls has 50 clients over HTTP, each in an episode of its own, that make a call every 100 ms, and says how long the
// slowest one in a hundred takes, as the client sees it. It is to be run with -benchtime 5000x.
func BenchmarkMCPCalls(b *testing.B) {
	const clients = 50
	core := newCore(b, nil)
	web := httptest.NewServer(server.NewHandler(core, server.Options{}))
	defer web.Close()
	in := instances(b, universe.StyleFunc)[0]
	s, _ := openHarbour(b)
	plan := s.Index()[in.Task].Plans[0].Calls[0]
	sessions := make([]*mcp.ClientSession, clients)
	for i := range sessions {
		e := open(b, core, server.Request{Instance: in.ID, Budget: universe.Budget{}})
		sessions[i] = connect(b, overHTTP(web.URL+"/v1/episodes/"+e.Handle+"/mcp", ""), nil, nil)
	}
	taken := make([][]time.Duration, clients)
	b.ResetTimer()
	var clientsDone sync.WaitGroup
	for i, session := range sessions {
		clientsDone.Go(func() {
			<-time.After(time.Duration(i) * 100 * time.Millisecond / clients) // else they would all call at once
			pace := time.NewTicker(100 * time.Millisecond)
			defer pace.Stop()
			for range b.N/clients + 1 {
				<-pace.C
				began := time.Now()
				result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: plan.Tool, Arguments: plan.Arguments})
				if err != nil || result.IsError {
					b.Error(err, result)
					return
				}
				taken[i] = append(taken[i], time.Since(began))
			}
		})
	}
	clientsDone.Wait()
	b.StopTimer()
	all := slices.Concat(taken...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	for _, session := range sessions {
		if err := session.Close(); err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkMCPListing lists 5,000 tools over HTTP, all pages.
func BenchmarkMCPListing(b *testing.B) {
	core := newCore(b, nil)
	s := newSite(b, core, server.Options{})
	e := open(b, core, server.Request{Instance: instances(b, universe.StyleFunc)[0].ID})
	server.SetTools(e, tools5000(b))
	path := "/v1/episodes/" + e.Handle + "/mcp"
	headers := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	_, _, h := s.do(http.MethodPost, path, hello, headers...)
	headers = append(headers, "Mcp-Session-Id", h.Get("Mcp-Session-Id"))
	s.do(http.MethodPost, path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...)
	size := 0
	b.ResetTimer()
	for range b.N {
		size = 0
		for at := range 5 {
			params := "{}"
			if at > 0 {
				params = fmt.Sprintf(`{"cursor":"%d000"}`, at)
			}
			s.heard.Reset()
			status, data, _ := s.do(http.MethodPost, path, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":`+params+`}`, headers...)
			if size += len(data); status != http.StatusOK || len(data) < 100_000 {
				b.Fatalf("%d: %s", status, data)
			}
		}
	}
	b.ReportMetric(float64(size), "B/listing")
}
