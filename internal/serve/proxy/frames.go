package proxy

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// frames reads lines of any length.
type frames struct {
	r     *bufio.Reader
	limit int
}

func newFrames(r io.Reader, limit int) *frames {
	return &frames{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next gives a line with its end. Of a line beyond the limit it gives the beginning, and the rest is for [frames.rest].
// The last line may have no end.
func (f *frames) next() (raw []byte, long bool, err error) {
	for {
		part, err := f.r.ReadSlice('\n')
		raw = append(raw, part...)
		switch {
		case err == nil:
			return raw, len(raw) > f.limit+2, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(raw) > 0 && errors.Is(err, io.EOF) {
				err = nil
			}
			return raw, false, err
		case len(raw) > f.limit:
			return raw, true, nil
		}
	}
}

// rest hands over what is left of a line, and gives how many bytes that were.
func (f *frames) rest(w io.Writer) (int, error) {
	total := 0
	for {
		part, err := f.r.ReadSlice('\n')
		total += len(part)
		if _, failed := w.Write(part); failed != nil {
			return total, failed
		}
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return total, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return total, err
		}
	}
}

// lineEnd splits a line from its end.
func lineEnd(raw []byte) (body, end []byte) {
	n := len(raw)
	if n > 0 && raw[n-1] == '\n' {
		n--
		if n > 0 && raw[n-1] == '\r' {
			n--
		}
	}
	return raw[:n], raw[n:]
}

// output is a stream that several goroutines write whole messages to.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) write(parts ...[]byte) error {
	var all []byte
	if len(parts) == 1 {
		all = parts[0]
	} else {
		for _, p := range parts {
			all = append(all, p...)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.w.Write(all)
	return err
}

// stream writes a message whose rest is still to be read; nothing else comes between.
func (o *output) stream(head []byte, f *frames) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.w.Write(head); err != nil {
		return len(head), err
	}
	if head[len(head)-1] == '\n' {
		return len(head), nil
	}
	n, err := f.rest(o.w)
	return len(head) + n, err
}
