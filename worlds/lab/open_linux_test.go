package lab

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/testkit"
)

// TestExplainError_NamesMissingFeature checks that the kernel's errors are explained.
func TestExplainError_NamesMissingFeature(t *testing.T) {
	for err, want := range map[error]string{
		unix.EPERM: "CAP_NET_ADMIN", unix.EOPNOTSUPP: "CONFIG_VETH", unix.EAFNOSUPPORT: "CONFIG_IPV6",
		unix.EINVAL: unix.EINVAL.Error(),
	} {
		got := explainError(fmt.Errorf("host x: %w", err))
		if !errors.Is(got, err) || !strings.Contains(got.Error(), want) || !strings.Contains(got.Error(), "host x") {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// TestOpenWithoutRoot checks that Open and RemoveDead refuse a thread without root's user ID, also if the test runs as
// root.
func TestOpenWithoutRoot(t *testing.T) {
	testkit.RunUnprivileged(t, func() {
		c := dumbbell()
		if l, err := Open(c.Wiring.Network, c.Wiring.Hosts, 0); l != nil || err != ErrNotRoot {
			t.Errorf("without root: %v", err)
		}
		if _, err := RemoveDead(); err != ErrNotRoot {
			t.Errorf("without root: %v", err)
		}
	})
}
