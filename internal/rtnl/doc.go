// Package rtnl creates and configures network interfaces for the lab. It uses rtnetlink (rtnetlink(7), RFC 3549)
// for veth pairs, addresses, routes and neighbours, and ethtool's ioctls for offloads. Linux only.
package rtnl
