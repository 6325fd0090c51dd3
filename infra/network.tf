# A network of our own with nothing open to the internet, or one that is there already.

locals {
  _own_regions = (
    var.network == null
    ? local.regions
    : toset([])
  )

  # One name in every region: whoever knows the zone knows the subnetwork.
  network = (
    var.network == null
    ? google_compute_network.this[0].name
    : var.network.name
  )
  subnetwork = (
    var.network == null
    ? "${var.prefix}-slices"
    : var.network.subnetwork
  )
}

resource "google_compute_network" "this" {
  count = (
    var.network == null
    ? 1
    : 0
  )

  auto_create_subnetworks = false
  description             = "Where the slices of ${var.prefix} are."
  name                    = var.prefix

  depends_on = [google_project_service.this]
}

resource "google_compute_subnetwork" "slices" {
  # checkov:skip=CKV_GCP_26: the hosts of a slice exchange terabytes; their logs would cost more
  for_each = local._own_regions

  description = "Slices of ${var.prefix} in ${each.key}."
  # Without this a slice that has no external address reaches neither storage nor Pub/Sub.
  private_ip_google_access = true
  ip_cidr_range            = lookup(var.subnet_ranges, each.key, "")
  name                     = "${var.prefix}-slices"
  network                  = google_compute_network.this[0].id
  region                   = each.key

  lifecycle {
    precondition {
      condition     = contains(keys(var.subnet_ranges), each.key)
      error_message = "${each.key} has no address range: add it to subnet_ranges."
    }
  }
}

# The hosts of a slice talk to one another; nobody else gets in.
resource "google_compute_firewall" "slices" {
  count = (
    var.network == null
    ? 1
    : 0
  )

  description   = "Hosts of slices among themselves."
  direction     = "INGRESS"
  name          = "${var.prefix}-slices"
  network       = google_compute_network.this[0].name
  source_ranges = [for subnet in google_compute_subnetwork.slices : subnet.ip_cidr_range]

  allow {
    protocol = "icmp"
  }

  allow {
    protocol = "tcp"
  }

  allow {
    protocol = "udp"
  }
}

# The way out for slices without an external address: packages, data sets.
resource "google_compute_router" "slices" {
  for_each = var.nat ? local._own_regions : toset([])

  name    = "${var.prefix}-slices"
  network = google_compute_network.this[0].id
  region  = each.key
}

resource "google_compute_router_nat" "slices" {
  for_each = google_compute_router.slices

  name                               = "${var.prefix}-slices"
  nat_ip_allocate_option             = "AUTO_ONLY"
  region                             = each.key
  router                             = each.value.name
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}
