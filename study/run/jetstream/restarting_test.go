package jetstream

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestIsRestarting checks which errors of a first connection allow a retry: a server that is stopped at that moment
// resets connections that it has accepted.
func TestIsRestarting(t *testing.T) {
	broken := func(err error) error {
		return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
	}
	for _, x := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{nats.ErrNoServers, true},
		{broken(syscall.ECONNRESET), true},
		{broken(syscall.EPIPE), true},
		{io.EOF, true},
		{nats.ErrAuthorization, false},
		{nats.ErrSecureConnRequired, false},
		{errors.New("x509: certificate signed by unknown authority"), false},
	} {
		if got := isRestarting(x.err); got != x.want {
			t.Errorf("%v: %v, want %v", x.err, got, x.want)
		}
	}
}
