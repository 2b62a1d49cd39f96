package python

import (
	"context"
	"sync"
)

// Share returns the engine with at most a number of sessions side by side: others wait for one to end. A session is one
// process or instance that never exceeds its [Limits.Memory], so the number bounds the memory and the processes of all
// code together, on any system.
func Share(e Engine, sessions int) Engine {
	return &shared{Engine: e, places: make(chan struct{}, max(sessions, 1))}
}

type shared struct {
	Engine
	places chan struct{}
}

// Start implements [Engine].
func (s *shared) Start(ctx context.Context, setup *Setup) (Session, error) {
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	session, err := s.Engine.Start(ctx, setup)
	if err != nil {
		<-s.places
		return nil, err
	}
	return &placed{Session: session, leave: sync.OnceFunc(func() { <-s.places })}, nil
}

// placed is a session that frees its place when it is closed.
type placed struct {
	Session
	leave func()
}

// Close implements [Session].
func (p *placed) Close() error {
	defer p.leave()
	return p.Session.Close()
}
