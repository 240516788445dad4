package bind

import (
	"errors"
	"net"
	"testing"
)

// everyAddress are ways to write every address of the machine, and oneAddress ways to write one.
var (
	everyAddress = []string{":80", "0.0.0.0:80", "[::]:80", "[0:0:0:0:0:0:0:0]:80",
		"[::ffff:0.0.0.0]:80", "[::ffff:0:0]:80",
		"[0:0:0:0:0:ffff:0:0]:80", "[::%lo]:80", "[::%25lo]:80", "[::ffff:0.0.0.0%1]:80"}
	oneAddress = []string{"127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "10.0.0.1:0", "[fe80::1%eth0]:80",
		"localhost:80", "lab.example.org:80", "[2001:db8::1]:80"}
)

// TestParseHost_AcceptsOnlyOneAddress checks which texts are one address of the machine.
func TestParseHost_AcceptsOnlyOneAddress(t *testing.T) {
	for _, address := range everyAddress {
		var every *EveryAddressError
		if host, err := ParseHost(address); !errors.As(err, &every) || every.Address != address {
			t.Errorf("%s has the host %q, %v", address, host, err)
		}
		if _, err := Listen(address); !errors.As(err, &every) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range oneAddress {
		want, _, _ := net.SplitHostPort(address)
		if host, err := ParseHost(address); host != want || err != nil {
			t.Errorf("%s has the host %q, %v", address, host, err)
		}
	}
	for _, address := range []string{"", "127.0.0.1", "::1:80", "[::1]", "a:b:c"} {
		if host, err := ParseHost(address); err == nil {
			t.Errorf("%s has the host %q", address, host)
		}
	}
}

// listenerAt is a listener with an address only.
type listenerAt struct {
	net.Listener
	address net.Addr
}

func (l listenerAt) Addr() net.Addr { return l.address }

// TestCheckListener checks the addresses that names resolve to, also of 0, 00.0.0.0 and names in /etc/hosts.
func TestCheckListener(t *testing.T) {
	for _, x := range []struct {
		address net.TCPAddr
		every   bool
	}{
		{net.TCPAddr{IP: net.IPv4zero}, true},
		{net.TCPAddr{IP: net.IPv6zero}, true},
		{net.TCPAddr{IP: net.IPv6zero, Zone: "lo"}, true},
		{net.TCPAddr{}, true},
		{net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, false},
		{net.TCPAddr{IP: net.IPv6loopback}, false},
		{net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}, false},
		{net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, false},
	} {
		if err := checkListener(listenerAt{address: &x.address}, "name:80"); (err != nil) != x.every {
			t.Errorf("%v: %v", &x.address, err)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.1.2.3": true, "::1": true,
		"::ffff:127.0.0.1": true, "::1%lo": true, "10.0.0.1": false, "0.0.0.0": false, "": false, "lab.example.org": false,
		"127.0.0.1.example.org": false} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
