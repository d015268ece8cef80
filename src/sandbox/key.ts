/** The built-in sandbox's key. No secret: it opens nothing but the sandbox. */
export const SANDBOX_KEY = 'sandbox';
