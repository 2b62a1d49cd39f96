package telemetry

// Seeds counts the episodes whose agents were told a trace that is not sent yet.
func (e *Exporter) Seeds() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.seeds)
}
