variable "admins" {
  description = "E-mail addresses of those who may act for everybody."
  type        = set(string)
  default     = []
  nullable    = false
}

variable "alert_channels" {
  description = "Notification channels of Cloud Monitoring: name => type and labels, as in { ops = { type = \"google_chat\", labels = { space = \"spaces/AAAA\" } } }."
  type = map(object({
    labels = map(string)
    type   = string
  }))
  default  = {}
  nullable = false
}

variable "alert_email" {
  description = "Who is told by e-mail when the control plane is in trouble; null for nobody."
  type        = string
  default     = null
}

variable "alert_webhooks" {
  description = "Webhooks that the function alert posts to: name => the settings of docs/alerts.md. Their addresses and keys are secrets and stand in none of these files."
  type = map(object({
    burst          = optional(number)
    kind           = optional(string, "slack")
    kinds          = optional(list(string))
    link           = optional(string)
    owners         = optional(list(string))
    posts_per_hour = optional(number)
    teams          = optional(list(string))
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.alert_webhooks) : can(regex("^[a-z][a-z0-9-]{0,28}[a-z0-9]$", name))])
    error_message = "A webhook's name is 2 to 30 letters, digits and dashes, and begins with a letter."
  }

  validation {
    condition     = alltrue([for webhook in values(var.alert_webhooks) : contains(["generic", "slack"], webhook.kind)])
    error_message = "A webhook's kind is \"slack\" or \"generic\"."
  }
}

variable "audiences" {
  description = "OAuth clients whose identity tokens are believed; empty for those of gcloud."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "database" {
  description = "Name of the Firestore database; null for the prefix."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Keep the database and the bucket, whatever is destroyed. Set it to false, apply, and only then can they go."
  type        = bool
  default     = true
  nullable    = false
}

variable "external_ips" {
  description = "Whether the hosts of slices get external addresses. Without them they reach Google's services only, or with nat = true everything."
  type        = bool
  default     = true
  nullable    = false
}

variable "installation" {
  description = "Six characters in the name of everything that is made in Cloud TPU; null to derive them from project and prefix."
  type        = string
  default     = null

  validation {
    condition     = var.installation == null || can(regex("^[a-z][a-z0-9]{5}$", var.installation))
    error_message = "An installation is a letter, then five letters or digits."
  }
}

variable "kms_key" {
  description = "Full name of a Cloud KMS key in the region that encrypts topics, buckets, database, secrets and functions; null for Google's own keys."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key))
    error_message = "A key is projects/…/locations/…/keyRings/…/cryptoKeys/…"
  }
}

variable "labels" {
  description = "Labels of everything that can have some."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "limits" {
  description = "The table [limits] of settings.toml: how many slices are asked for in a minute, and how many slices and chips one owner may have at once; null for no cap."
  type = object({
    chips_per_owner    = optional(number)
    creates_per_minute = optional(number, 60)
    slices_per_owner   = optional(number)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.limits.creates_per_minute >= 1 && var.limits.creates_per_minute <= 100000
    error_message = "From 1 to 100000 slices are asked for in a minute; `tpuctl pause` is for none."
  }

  validation {
    condition     = alltrue([for value in values(var.limits) : value == null ? true : value >= 0 && floor(value) == value])
    error_message = "Limits are whole numbers of 0 or more."
  }
}

variable "log_days" {
  description = "After how many days the logs of jobs are deleted; null for never."
  type        = number
  default     = null
}

variable "nat" {
  description = "Whether slices without external addresses reach the internet through Cloud NAT, which costs money."
  type        = bool
  default     = false
  nullable    = false
}

variable "network" {
  description = "A network that is there already, and its subnetwork, of the same name in every region; null to make one."
  type = object({
    name       = string
    subnetwork = string
  })
  default = null
}

variable "outbox_age_s_max" {
  description = "How old, in seconds, an unpublished event may be before somebody is told."
  type        = number
  default     = 300
  nullable    = false
}

variable "policy" {
  description = "The table [policy] of settings.toml: setting => seconds or count."
  type        = map(number)
  default     = {}
  nullable    = false
}

variable "prefix" {
  description = "What the names of all resources begin with. Two installations in one project need two."
  type        = string
  default     = "tpuctl"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,10}[a-z0-9]$", var.prefix))
    error_message = "A prefix is 4 to 12 letters, digits and dashes, and begins with a letter."
  }
}

variable "project" {
  description = "Project id."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "A project id is 6 to 30 letters, digits and dashes, and begins with a letter."
  }
}

variable "region" {
  description = "Region of functions, bucket and database, such as europe-west4."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "A region is written like europe-west4."
  }
}

variable "source_zip" {
  description = "Path of the zip that infra/package.py wrote."
  type        = string
}

variable "subnet_ranges" {
  description = "Addresses of the subnetwork that is made in each region where there are zones."
  type        = map(string)
  default = {
    asia-east1              = "10.64.0.0/16"
    asia-northeast1         = "10.65.0.0/16"
    asia-south1             = "10.66.0.0/16"
    asia-southeast1         = "10.67.0.0/16"
    europe-north1           = "10.68.0.0/16"
    europe-west1            = "10.69.0.0/16"
    europe-west3            = "10.70.0.0/16"
    europe-west4            = "10.71.0.0/16"
    northamerica-northeast1 = "10.72.0.0/16"
    southamerica-west1      = "10.73.0.0/16"
    us-central1             = "10.74.0.0/16"
    us-central2             = "10.75.0.0/16"
    us-east1                = "10.76.0.0/16"
    us-east4                = "10.77.0.0/16"
    us-east5                = "10.78.0.0/16"
    us-south1               = "10.79.0.0/16"
    us-west1                = "10.80.0.0/16"
    us-west4                = "10.81.0.0/16"
  }
  nullable = false
}

variable "teams" {
  description = "Whoever trusts one another, under one worker account and in one folder of the bucket: name => members (e-mail addresses) and their own buckets. Everybody else runs as the default worker."
  type = map(object({
    buckets = optional(set(string), [])
    members = set(string)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for name in keys(var.teams) : can(regex("^[a-z][a-z0-9-]{0,13}[a-z0-9]$", name)) && name != "default"])
    error_message = "A team's name is 2 to 15 letters, digits and dashes, begins with a letter, and is not \"default\"."
  }

  validation {
    condition     = alltrue(flatten([for team in values(var.teams) : [for email in team.members : can(regex("^[^@: ]+@[^@: ]+$", email))]]))
    error_message = "A team's members are e-mail addresses."
  }

  # Google lets one account have one role on one bucket under 20 conditions.
  validation {
    condition     = length(var.teams) < 20
    error_message = "There are at most 19 teams in one installation; another prefix is another installation."
  }
}

variable "unacked_s_max" {
  description = "How many seconds a message may wait before somebody is told."
  type        = number
  default     = 600
  nullable    = false
}

variable "users" {
  description = "IAM members who may submit jobs, beside the members of teams: user:…, group:… or serviceAccount:… — each one that has a name."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for member in var.users : can(regex("^(user|group|serviceAccount):[^@ ]+@[^@ ]+$", member))])
    error_message = "A user is user:…@…, group:…@… or serviceAccount:…@…; nobody unnamed may submit."
  }
}

variable "zones" {
  description = "Zones in which slices may be, such as europe-west4-b."
  type        = list(string)

  validation {
    condition     = length(var.zones) > 0 && alltrue([for zone in var.zones : can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", zone))])
    error_message = "A zone is written like europe-west4-b, and there is at least one."
  }
}
