package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/command"
)

// TestServeFlags checks that impossible options of weir serve are reported before it listens.
func TestServeFlags(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"every address", []string{"--listen", "0.0.0.0:8100"}, "every address of this machine; name one address"},
		{"every address of IPv6", []string{"--listen", "[::]:8100"}, "every address of this machine"},
		{"no host", []string{"--listen", ":8100"}, "every address of this machine"},
		{"every address, mapped", []string{"--listen", "[::ffff:0.0.0.0]:8100"}, "every address of this machine"},
		{"every address, in words", []string{"--listen", "[::ffff:0:0]:8100"}, "every address of this machine"},
		{"every address of a zone", []string{"--listen", "[::%lo]:8100"}, "every address of this machine"},
		{"workers everywhere of a zone", []string{"--workers", "[::%lo]:1"}, "every address of this machine"},
		{"no port", []string{"--listen", "127.0.0.1"}, "is not of the form ADDRESS:PORT, such as 127.0.0.1:8100"},
		{"no name", []string{"--host", "http://x/"}, "is not a host name"},
		{"any name", []string{"--host", "*"}, "is not a host name"},
		{"no file", []string{filepath.Join(t.TempDir(), "none.yaml")}, "unknown experiment or file"},
		{"metrics", []string{"--workers", "127.0.0.1:0", "--metrics", "127.0.0.1:0"}, "--metrics is for weir run"},
		{"verify", []string{"--verify", "all"}, "--verify needs --workers or --nats"},
		{"verify what", []string{"--verify", "some"}, "--verify must be one of"},
		{"alone", []string{"--no-own"}, "--no-own and --metrics need --workers or --nats"},
		{"workers everywhere", []string{"--workers", "0.0.0.0:1"}, "--workers: "},
		{"an address of others", []string{"--listen", "192.0.2.1:8100"}, "--listen 127.0.0.1:0 uses any free port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"serve", "--out", t.TempDir()}, c.args...)
			code, out, errs := weir(args...)
			if code != command.WrongInput || out != "" || !strings.Contains(errs, c.want) {
				t.Errorf("code %d, %q, %q", code, out, errs)
			}
		})
	}
	for _, args := range [][]string{{"--threads", "2"}, {"--hosts", "16"}, {"--time", "1s"}, {"--runs", "-1"}} {
		if code, _, errs := weir(append([]string{"bench", "page"}, args...)...); code != command.WrongInput {
			t.Errorf("bench page %v: code %d, %q", args, code, errs)
		}
	}
}
