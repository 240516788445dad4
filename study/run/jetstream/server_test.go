package jetstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestReachableHost_RejectsEveryAddress checks that the server must listen at an address that workers on other
// machines can use.
func TestReachableHost_RejectsEveryAddress(t *testing.T) {
	for listen, want := range map[string]string{"10.0.0.1:4222": "", "localhost:0": "", "[2001:db8::1]:1": "",
		":4222": "every address", "0.0.0.0:4222": "every address", "[::]:4222": "every address",
		"[::%lo]:4222": "every address", "[::ffff:0.0.0.0]:4222": "every address", "[::ffff:127.0.0.1]:4222": "",
		"10.0.0.1": "not of the form ADDRESS:PORT"} {
		if _, err := ReachableHost(listen); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(),
			want) {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

// TestWriteJoinFile_ChoosesPort checks that WriteJoinFile writes the join file before a sweep begins, and chooses
// the port.
func TestWriteJoinFile_ChoosesPort(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	file, address, err := WriteJoinFile("127.0.0.1:0", dir)
	if err != nil {
		t.Fatal(err)
	}
	j, err := ReadJoin(file)
	if err != nil || j.Address != "nats://"+address || j.Key == "" || j.Certificate != "" ||
		strings.HasSuffix(address, ":0") {
		t.Errorf("%v, %+v at %s", err, j, address)
	}
	if _, _, err := WriteJoinFile("0.0.0.0:0", dir); err == nil || !strings.Contains(err.Error(), "every address") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := WriteJoinFile("127.0.0.1:0", dir); err == nil || !strings.Contains(err.Error(), "secrets.json") {
		t.Error(err)
	}
	if _, _, err := WriteJoinFile("127.0.0.1:0", file); err == nil {
		t.Error("keys are kept in a file")
	}
}

// TestCertificateIsKept checks that a server that workers on other machines reach has a certificate, and the same
// one after a restart.
func TestCertificateIsKept(t *testing.T) {
	dir := t.TempDir()
	first, err := openSecrets(dir, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := openSecrets(dir, "192.0.2.1")
	if err != nil || first.Certificate == nil || string(again.authority) != string(first.authority) ||
		again.Worker != first.Worker {
		t.Fatalf("%v, %v", first, err)
	}
	local, err := openSecrets(dir, "127.0.0.1")
	if err != nil || local.Certificate != nil || local.Worker == first.Worker {
		t.Errorf("%v, %v", local, err)
	}
}

// TestServe_HearsEarliestWorker checks that a worker that connects at the first instant at which a server accepts it
// receives announcements: the server of a page's next sweep starts at an address at which workers keep trying.
func TestServe_HearsEarliestWorker(t *testing.T) {
	for range 10 {
		dir := t.TempDir()
		keys, err := openSecrets(dir, "127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		_, address, err := WriteJoinFile("127.0.0.1:0", dir)
		if err != nil {
			t.Fatal(err)
		}
		started, heard := make(chan struct{}), make(chan *nats.Subscription, 1)
		go func() {
			defer close(heard)
			option, _ := withSeed(keys.Worker)
			for last := false; !last; {
				select {
				case <-started: // the server accepts connections, so that one more attempt succeeds
					last = true
				default:
				}
				conn, err := nats.Connect("nats://"+address, option, nats.NoReconnect())
				if err != nil {
					continue
				}
				if s, err := conn.SubscribeSync(announceSubject); err == nil && conn.Flush() == nil {
					heard <- s
				}
				return
			}
		}()
		s, err := serve(address, dir, keys, "x")
		close(started)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.stop)
		worker := <-heard
		if worker == nil {
			t.Fatal("the worker cannot subscribe")
		}
		option, _ := withSeed(keys.Coordinator)
		conn, err := nats.Connect("", option, nats.InProcessServer(s))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		conn.Publish(announceSubject, []byte("sweep"))
		if _, err := worker.NextMsg(10 * time.Second); err != nil {
			t.Fatalf("the worker that connected first hears no announcement: %v", err)
		}
	}
}
