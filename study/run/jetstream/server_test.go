package jetstream

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"weir/internal/testkit/await"
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

// TestWorker_HearsServerThatStarts checks that a worker that subscribes before a server has connected its accounts
// hears the sweep afterwards: the server of a page's next sweep starts at an address at which workers keep trying.
func TestWorker_HearsServerThatStarts(t *testing.T) {
	dir := t.TempDir()
	keys, err := openSecrets(dir, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	const x = sweep("x")
	coordinator, workers := server.NewAccount(coordinatorAccount), server.NewAccount(workersAccount)
	of, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: dir, Accounts: []*server.Account{coordinator, workers},
		Nkeys: keys.listUsers(x, coordinator, workers)})
	if err != nil {
		t.Fatal(err)
	}
	of.Start()
	t.Cleanup(func() { of.Shutdown(); of.WaitForShutdown() })
	if !of.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		j := &Join{Address: "nats://" + of.Addr().String(), Key: keys.Worker, Coordinator: publicKey(keys.Coordinator)}
		ended <- Worker{Jobs: 1}.ExecuteRuns(ctx, j)
	}()
	await.AwaitCondition(t, "a worker with a subscription", func() bool {
		clients, err := of.Connz(nil)
		return err == nil && len(clients.Conns) == 1 && clients.Conns[0].NumSubs > 0
	})
	if err := x.connectAccounts(of); err != nil {
		t.Fatal(err)
	}
	option, _ := withSeed(keys.Coordinator)
	conn, err := nats.Connect("", option, nats.InProcessServer(of))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	hellos, err := conn.SubscribeSync(x.subject("hello"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := nkeys.FromSeed([]byte(keys.Coordinator))
	if err != nil {
		t.Fatal(err)
	}
	a := announcer{hello: announcement{Sweep: x}, key: key, conn: conn}
	await.AwaitCondition(t, "a hello of the worker", func() bool {
		a.announce()
		_, err := hellos.NextMsg(50 * time.Millisecond)
		return err == nil
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
