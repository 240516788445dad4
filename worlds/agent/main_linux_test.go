//go:build lab || slow

package agent_test

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// TestMain runs the tests, or this process is a sender or the data plane of a star.
func TestMain(m *testing.M) {
	if to := os.Getenv(sendsTo); to != "" {
		sendAll(to)
	}
	if is, err := serveStar(); is {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// sendsTo is the environment variable that makes a test's process a program that sends to this address.
const sendsTo = "WEIR_AGENT_TEST_SENDS_TO"

// sendAll sends until it is killed. It prints its address.
func sendAll(to string) {
	c, err := net.Dial("tcp6", to)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.LocalAddr())
	for b := make([]byte, 1<<16); err == nil; {
		_, err = c.Write(b)
	}
	os.Exit(0)
}
