package telemetry

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// bounds of the buckets of histograms.
var (
	secondBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBounds  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// figures are metrics since the exporter began, by name and attributes.
type figures map[string]*figure

type figure struct {
	metric     string
	attributes attributes
	bounds     []float64 // nil for a sum
	counts     []uint64
	count      uint64
	sum        float64
}

// observe adds a value. The number of combinations of attributes is bounded by the agents and models of a run.
func (e *Exporter) observe(metric string, bounds []float64, v float64, labels attributes) {
	key := metric
	for _, a := range labels {
		key += "\x00" + a.Key + "=" + *a.Value.String
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.figures == nil {
		e.figures = figures{}
	}
	f := e.figures[key]
	if f == nil {
		f = &figure{metric: metric, attributes: labels, bounds: bounds}
		if bounds != nil {
			f.counts = make([]uint64, len(bounds)+1)
		}
		e.figures[key] = f
	}
	if bounds != nil {
		at, _ := slices.BinarySearch(bounds, v) // the first bound that is not below v
		f.counts[at]++
	}
	f.count++
	f.sum += v
}

// sendFigures sends the metrics so far. What is lost comes with the next ones.
func (e *Exporter) sendFigures() {
	e.mu.Lock()
	points := map[string][]object{}
	histograms := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(e.figures)) {
		f := e.figures[key]
		point := object{"attributes": f.attributes, "startTimeUnixNano": nanos(e.began), "timeUnixNano": nanos(e.now())}
		if f.bounds == nil {
			point["asInt"] = strconv.FormatUint(f.count, 10)
		} else {
			point["count"], point["sum"] = strconv.FormatUint(f.count, 10), f.sum
			point["explicitBounds"] = f.bounds
			counts := make([]string, len(f.counts))
			for i, n := range f.counts {
				counts[i] = strconv.FormatUint(n, 10)
			}
			point["bucketCounts"] = counts
		}
		points[f.metric] = append(points[f.metric], point)
		histograms[f.metric] = f.bounds != nil
	}
	e.mu.Unlock()
	if len(points) == 0 {
		return
	}
	var list []object
	for _, name := range slices.Sorted(maps.Keys(points)) {
		const cumulative = 2
		metric := object{"name": name, "unit": unitOf(name)}
		if histograms[name] {
			metric["histogram"] = object{"aggregationTemporality": cumulative, "dataPoints": points[name]}
		} else {
			metric["sum"] = object{"aggregationTemporality": cumulative, "isMonotonic": true, "dataPoints": points[name]}
		}
		list = append(list, metric)
	}
	err := e.post("/v1/metrics", object{"resourceMetrics": []object{{"resource": e.resource(),
		"scopeMetrics": []object{{"scope": scope, "metrics": list, "schemaUrl": schemaURL}}}}})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsent = err
}

func unitOf(metric string) string {
	switch {
	case metric == metricTokens:
		return "{token}"
	case strings.HasSuffix(metric, "duration"):
		return "s"
	}
	return "{episode}"
}
