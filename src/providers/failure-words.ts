// The machine words by which providers name a failure's cause, and what each means. Never repeats a word that it does not know.
import type { FailureClass } from "../../schemas/failure.ts";

/** `error.code`, `error.type`, `error.status`, reasons and exception names of all providers, in lower case. */
const wordsOf: readonly (readonly [FailureClass, string])[] = [
  [
    "rate_limited",
    `rate_limit_exceeded rate_limit_error rate_limit_reached_error rate_limited tokens requests too_many_requests
    slow_down too_many_requests_error too_many_tokens_error token_quota_exceeded request_quota_exceeded
    resource_exhausted ratelimitexceeded userratelimitexceeded limit_requests limit_burst_rate throttling
    throttling.ratequota throttling.burstrate throttling.allocationquota throttlingexception 1302 1303 1305`,
  ],
  [
    "quota",
    `insufficient_quota exceeded_current_quota_error billing_error billing_hard_limit_reached billing_not_active
    payment_required enforced_spend_limit_reached token_limit_exceeded insufficient_user_quota
    pre_consume_token_quota_failed dailylimitexceeded servicequotaexceededexception arrearage
    allocationquota.freetieronly 1113 1308`,
  ],
  [
    "overloaded",
    `overloaded_error overloaded engine_overloaded_error unavailable_error service_unavailable unavailable aborted
    server_is_overloaded insufficient_system_resource model_capacity_exhausted queue_exceeded
    service_tier_capacity_exceeded provider_overloaded get_channel_failed channel:no_available_key
    serviceunavailableexception modelnotreadyexception`,
  ],
  [
    "upstream_5xx",
    `server_error internal_server_error internalservererror internal_error internalerror internalerror.algo internal
    api_error server timeout_error request_timeout timeout deadline_exceeded vector_store_timeout
    bad_response_status_code do_request_failed provider_unavailable empty_response internalserverexception
    internalfailure modelerrorexception modelstreamerrorexception modeltimeoutexception`,
  ],
  [
    "auth",
    `invalid_api_key invalidapikey api_key_invalid authentication_error authentication unauthenticated unauthorized
    channel:invalid_key expiredtokenexception unrecognizedclientexception invalidsignatureexception
    incompletesignatureexception missingauthenticationtokenexception`,
  ],
  [
    "permission",
    `permission_error permission_denied access_denied accessdenied accessdenied.unpurchased accessdeniedexception
    data_residency_mismatch unsupported_country_region_territory service_disabled api_key_service_blocked`,
  ],
  [
    "model_not_found",
    `model_not_found modelnotfound not_found_error notfounderror not_found model_decommissioned deploymentnotfound
    invalid_model unknown_model model_not_supported resourcenotfoundexception 1211`,
  ],
  [
    "context_length",
    `context_length_exceeded model_context_window_exceeded exceed_context_size_error tokens_limit_reached
    request_too_large payload_too_large badrequest.toolarge 1261`,
  ],
  [
    "content_policy",
    `content_filter content_policy_violation responsibleaipolicyviolation image_content_policy_violation bio_policy
    misalignment_policy_violation moderation_blocked refusal datainspectionfailed data_inspection_failed
    sensitive_words_detected prompt_blocked 1301`,
  ],
  [
    // These say little: they give way to what the text or the status says.
    "invalid_request",
    `invalid_request_error invalid_request bad_request badrequesterror bad_request_error invalid_argument
    out_of_range failed_precondition precondition_failed invalid_value invalid_prompt invalidparameter
    invalid_parameter_error validationexception unprocessable unprocessable_entity missing_required_parameter
    unknown_parameter unsupported_parameter unsupported_value unsupported_model string_above_max_length
    string_too_long max_tokens_exceeded json_validate_failed tool_use_failed failed_generation
    invalid_function_parameters invalid_request_message_order invalid_image invalid_image_format invalid_base64_image invalid_image_url
    image_too_large image_too_small image_parse_error image_file_too_large unsupported_image_media_type
    failed_to_download_image image_file_not_found invalid_image_mode empty_image_file`,
  ],
];

/** Documented words that name a cause and class nothing. */
const furtherWords = `capacity cancelled conflict exceeded_limit forbidden gateway_timeout new_api_error not_supported_error
  unimplemented unknown_error unmapped`;

const listed = (text: string): string[] => text.split(/\s+/);

const byWord = new Map(
  wordsOf.flatMap(([failureClass, words]) => listed(words).map((word) => [word, failureClass] as const)),
);
const known = new Set([...byWord.keys(), ...listed(furtherWords)]);

/** Whatever part of a request is called wrong, it is the request that is refused. */
const ofRequest =
  /^(invalid|unsupported|unknown|missing|malformed)_(request|function|tool|schema|json|param|argument|type|value|message|image|input|prompt|body|field|format|file|url)(?!.*(response|output|upstream|provider|server))/;

/** The class that a word names; `undefined` for a word that is not known or names none. */
export function classOfWord(word: string): FailureClass | undefined {
  const lower = word.toLowerCase();
  return byWord.get(lower) ?? (ofRequest.test(lower) ? "invalid_request" : undefined);
}

/** Only words we know: a provider may put anything there, the key or the prompt included. */
export const isKnownWord = (word: unknown): word is string => typeof word === "string" && known.has(word.toLowerCase());
