// Package bind checks and opens the addresses at which commands listen for HTTP. It does not link package net/http.
package bind

import (
	"fmt"
	"net"
	"net/netip"
)

// EveryAddressError reports an address to listen at that is every address of the machine.
type EveryAddressError struct{ Address string }

func (e *EveryAddressError) Error() string {
	return fmt.Sprintf("%q stands for every address of this machine", e.Address)
}

// ParseHost returns the host of an ADDRESS:PORT to listen at. It returns an EveryAddressError for every address of the
// machine: an empty host or an unspecified address, also as an IPv4-mapped address or with a zone. Names are not
// resolved, and the port is not checked.
func ParseHost(address string) (string, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("%q is not of the form ADDRESS:PORT", address)
	}
	if host == "" || parseHost(host).IsUnspecified() {
		return "", &EveryAddressError{address}
	}
	return host, nil
}

// Listen listens at an ADDRESS:PORT by TCP; port 0 is any free one. It refuses what ParseHost refuses, and a name that
// resolves to every address of the machine.
func Listen(address string) (net.Listener, error) {
	if _, err := ParseHost(address); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := checkListener(l, address); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// checkListener returns an error if a listener that was opened at address listens at every address of the machine.
func checkListener(l net.Listener, address string) error {
	host, _, err := net.SplitHostPort(l.Addr().String())
	if err == nil && (host == "" || parseHost(host).IsUnspecified()) {
		return &EveryAddressError{address}
	}
	return nil
}

// IsLoopback reports whether a host is only this machine's: localhost or a loopback address. Other names are not
// resolved and count as not loopback.
func IsLoopback(host string) bool { return host == "localhost" || parseHost(host).IsLoopback() }

// parseHost returns the address of a host without an IPv4-mapped form and without a zone; the zero value is no address.
func parseHost(host string) netip.Addr {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.WithZone("").Unmap()
}
