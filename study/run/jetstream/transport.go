package jetstream

import (
	"bytes"
	"context"
	"io"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// transport starts and reaches servers. The zero value uses TCP; tests connect servers and clients in one process.
type transport struct {
	serve   func(address, dir string, secrets *secrets, of sweep) (*natsServer, error)
	dialer  nats.CustomDialer
	sent    func()                // called when an object has been passed to the client for sending
	storage jetstream.StorageType // storage of streams; the zero value is files
}

// startServer starts a server as function serve does, or through the field serve in tests.
func (x *transport) startServer(address, dir string, secrets *secrets, of sweep) (*natsServer, error) {
	if x.serve != nil {
		return x.serve(address, dir, secrets, of)
	}
	return serve(address, dir, secrets, of)
}

// options returns the options of a client's connection: a dialer in tests, and nil for TCP.
func (x *transport) options() []nats.Option {
	if x.dialer == nil {
		return nil
	}
	return []nats.Option{nats.SetCustomDialer(x.dialer)}
}

// putObject stores an object under a name, and calls sent, if not nil, after its last byte.
func (x *transport) putObject(ctx context.Context, store jetstream.ObjectStore, name string, data []byte) (
	*jetstream.ObjectInfo, error) {
	if x.sent == nil {
		return store.PutBytes(ctx, name, data)
	}
	return store.Put(ctx, jetstream.ObjectMeta{Name: name}, io.MultiReader(bytes.NewReader(data), endReader(x.sent)))
}

// endReader is an empty reader that calls a function when it is read.
type endReader func()

// Read calls the function and returns io.EOF.
func (atEnd endReader) Read([]byte) (int, error) {
	atEnd()
	return 0, io.EOF
}
