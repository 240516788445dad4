package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"weir/study/run/remote"
)

// part is a part of a large result. The coordinator responds with a received.
type part struct {
	Worker string `json:"worker"`
	Digest string `json:"sha256"` // of the whole result
	Size   int    `json:"size"`   // size of the whole result
	Offset int    `json:"offset"`
	Data   []byte `json:"data"`
}

// received has the number of bytes of a large result that the coordinator has. Full reports that it has no room for
// more at this time.
type received struct {
	Bytes int  `json:"bytes"`
	Full  bool `json:"full,omitempty"`
}

// partial is a large result in transfer.
type partial struct {
	size     int
	data     []byte
	lastPart time.Time // of the last part
}

// partials are the large results in transfer, by worker and digest.
type partials map[string]*partial

// sendParts sends a large result to the coordinator part by part. The coordinator has stored it when sendParts returns
// nil. It returns an error if a response is missing or invalid, or if the coordinator has no space; a later call
// continues where this one stopped.
func (w *workerState) sendParts(ctx context.Context, s *workerSweep, digest string, data []byte) error {
	for at := 0; ; {
		p := part{Worker: w.own, Digest: digest, Size: len(data), Offset: at, Data: data[at:min(len(data), at+maxInline)]}
		each, cancel := context.WithTimeout(ctx, answerTimeout(2))
		m, err := w.conn.RequestWithContext(each, s.Sweep.subject("part"), encode(p))
		cancel()
		var got received
		switch {
		case err != nil:
			return err
		case !decode(m.Data, &got) || got.Bytes < 0 || got.Bytes > len(data):
			return errors.New("the coordinator's answer is invalid")
		case got.Full:
			return errors.New("the coordinator has no disk space for it now")
		case got.Bytes == len(data):
			return nil
		}
		at = got.Bytes
	}
}

// receivePart handles a part of a large result and stores the complete result. It accepts parts in order only, and
// responds with the offset of the next part, or with Full if it has no room. It does not respond to invalid parts and
// to workers that are not trusted to report, nor until the complete result is stored.
func (c *Coordinator) receivePart(msg *nats.Msg) {
	var p part
	if !decode(msg.Data, &p) || p.Size <= maxInline || p.Offset < 0 || len(p.Data) > maxInline ||
		!remote.IsDigest(p.Digest) {
		return
	}
	c.lock.Lock()
	m := c.knownMember(p.Worker, "")
	if m == nil || m.isUntrusted() || m.bad != "" {
		c.lock.Unlock()
		return
	}
	key := p.Worker + " " + p.Digest
	x := c.partials[key]
	if x == nil && c.partials.makeRoom(p.Size) {
		x = &partial{size: p.Size}
		c.partials[key] = x
	}
	if x == nil {
		c.lock.Unlock()
		c.respond(msg, received{Full: true})
		return
	}
	if x.lastPart = time.Now(); p.Size == x.size && p.Offset == len(x.data) && len(x.data)+len(p.Data) <= x.size {
		x.data = append(x.data, p.Data...)
	}
	have, whole := len(x.data), len(x.data) == x.size
	if whole {
		delete(c.partials, key)
	}
	c.lock.Unlock()
	if !whole {
		c.respond(msg, received{Bytes: have})
		return
	}
	c.background.startFunction(func() {
		if remote.Digest(x.data) != p.Digest {
			return // the report will miss the result
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(2))
		defer cancel()
		if _, err := c.putObject(ctx, c.queues.results, p.Digest, x.data); err == nil {
			c.respond(msg, received{Bytes: have})
		} // otherwise the worker sends it again
	})
}

// makeRoom reports whether there is room for one more large result of size bytes. It drops transfers without a part in
// the last minute. The caller must hold the lock.
func (all partials) makeRoom(size int) bool {
	total := size
	for key, x := range all {
		if time.Since(x.lastPart) > time.Minute {
			delete(all, key)
			continue
		}
		total += x.size
	}
	return total <= maxPartBytes
}
